"""Job types whose handlers run in child processes. Importable, since a child imports them."""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from holdfast import Bound, Cancel, Fail, Jobs, MessageTimeout, Reschedule, Retry, Suspended, SyncAttempt
from holdfast.worker.process_child import Aborted

jobs = Jobs()

ONCE = Retry(max_attempts=1)
TWICE = Retry(initial=0, jitter=0, max_attempts=2)


class Unpicklable(Exception):
    """An error that cannot be unpickled: its class takes two arguments and stores one."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


@jobs.job(executor="process")
def add(first: int, second: int = 1) -> int:
    return first + second


@jobs.job(executor="process")
def pid() -> int:
    return os.getpid()


@jobs.job(executor="process")
def parent() -> int:
    return os.getppid()


@jobs.job(executor="process")
def hand_over(first: int) -> int | Bound[int]:
    return add.bind(first, 10)


@jobs.job(executor="process", retry=ONCE)
def raise_error() -> None:
    raise ValueError("something failed")


@jobs.job(executor="process", retry=ONCE)
def raise_unpicklable() -> None:
    raise Unpicklable(1, 2)


@jobs.job(executor="process", retry=Retry(max_attempts=5))
def raise_fail() -> None:
    raise Fail("not possible")


@jobs.job(executor="process")
def raise_cancel() -> None:
    raise Cancel("not needed")


@jobs.job(executor="process")
def raise_reschedule() -> None:
    raise Reschedule(delay=3600) from KeyError("not yet")


@jobs.job(executor="process", retry=TWICE)
def exit_once(marker: str) -> str:
    if not Path(marker).exists():
        Path(marker).touch()
        os._exit(7)
    return "survived"


@jobs.job(executor="process", retry=ONCE)
def crash() -> None:
    ctypes.string_at(0)


@jobs.job(executor="process", retry=ONCE)
def call_exit() -> None:
    sys.exit(3)


class Unprintable(Exception):
    """Raises KeyboardInterrupt when it is formatted or pickled."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__

    def __reduce__(self) -> str:
        raise KeyboardInterrupt


class UnprintableInTheWorker(Exception):
    """Can be formatted and pickled in the child, but not unpickled in the worker."""

    def __setstate__(self, state: dict[str, object] | None) -> None:
        if os.getpid() != state["pid"]:  # type: ignore[index]  # pyright: ignore[reportOptionalSubscript]
            raise KeyboardInterrupt

    def __init__(self) -> None:
        self.pid = os.getpid()


@jobs.job(executor="process", retry=ONCE)
def interrupt(kind: str) -> None:
    kinds: dict[str, type[BaseException]] = {
        "KeyboardInterrupt": KeyboardInterrupt,
        "GeneratorExit": GeneratorExit,
        "CancelledError": asyncio.CancelledError,
        "StopIteration": StopIteration,
        "StopAsyncIteration": StopAsyncIteration,
        "Unprintable": Unprintable,
        "UnprintableInTheWorker": UnprintableInTheWorker,
    }
    raise kinds[kind]


@jobs.job(executor="process", retry=ONCE, timeout=0.5)
def ignore_timeout(marker: str) -> None:
    """Ignore aborts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    Path(marker).write_text(str(os.getpid()))
    while True:
        time.sleep(60)


@jobs.job(executor="process", retry=ONCE)
def run_until_aborted(begun: str, ended: str) -> str:
    """Run until aborted, and write the reason to a file."""
    os.mkfifo(ended + ".never")
    try:
        with Path(begun).open("w") as pipe:  # a fifo: a reader knows that this handler runs
            pipe.write(str(os.getpid()))
        Path(ended + ".never").open().close()
    except Aborted as abort:
        Path(ended).write_text(abort.reason)
        raise
    return "undisturbed"


@jobs.job(executor="process", retry=ONCE)
def allocate(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


@jobs.job(executor="process", retry=ONCE, lease=60, renew_interval=0.1)
def hold_gil(seconds: float) -> str:
    """Hold the GIL in one call that never releases it."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    return "done"


@jobs.job(executor="process", retry=ONCE)
def return_wrong_type() -> int:
    return "text"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


@jobs.job(executor="process", retry=ONCE, timeout=120)
def end_programs() -> int:
    program = subprocess.Popen(["sleep", "60"])
    program.terminate()
    try:
        return program.wait(60)
    finally:
        program.kill()


@jobs.job(executor="process", retry=ONCE, timeout=120)
def end_copies() -> int:
    status = 0
    for _ in range(20):  # at once, while the copy still starts
        copy = os.fork()
        if copy == 0:
            time.sleep(60)
            os._exit(0)
        os.kill(copy, signal.SIGTERM)
        _, status = os.waitpid(copy, 0)
    return os.waitstatus_to_exitcode(status)


@jobs.job(executor="process", retry=ONCE, timeout=120)
def pool() -> list[int]:
    with multiprocessing.Pool(2) as workers:
        return workers.map(abs, [1, -2])


@jobs.job(executor="process", retry=ONCE)
def send_signal_to_itself(number: int) -> str:
    os.kill(os.getpid(), number)
    return "still here"


@jobs.job(executor="process", retry=ONCE)
def sleep() -> None:
    time.sleep(60)


@jobs.job(executor="process", retry=TWICE)
def fulfil(attempt: SyncAttempt, order: int) -> tuple[int, str, list[str]]:
    pid = attempt.step("pid", os.getpid, returns=int)
    attempt.progress(0.5)
    if attempt.job.attempt == 1:
        raise ValueError("no luck")
    assert attempt.job.input == {"order": order}
    for _ in attempt.cursor("rows", range(3)):
        pass
    attempt.sleep("short", 0)
    label = attempt.receive("label", str)
    texts: list[str] = []
    for call in (attempt.prepare, attempt.complete):
        try:
            call()
        except RuntimeError as error:
            texts.append(str(error))
    return pid, label, texts


@jobs.job(executor="process", retry=ONCE)
def receive_briefly(attempt: SyncAttempt) -> str:
    try:
        return attempt.receive("label", str, timeout=0.01)
    except MessageTimeout:
        return "timeout"


@jobs.job(executor="process", retry=ONCE)
def swallow(attempt: SyncAttempt) -> str:
    try:
        attempt.sleep("nap", 60)
    except Suspended:
        return "swallowed"
    return "done"


@jobs.job(executor="process", retry=ONCE)
def late_step(attempt: SyncAttempt) -> None:
    attempt.step("begun", os.getpid, returns=int)
    try:
        time.sleep(60)
    finally:
        attempt.step("late", os.getpid, returns=int)
