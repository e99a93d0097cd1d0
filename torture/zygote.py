"""The mother of a run's processes: has everything imported, and forks a producer or worker in milliseconds.

Killing workers all the time would otherwise mean to spend the run on starting Python. ``python -m torture.zygote
SETTINGS`` reads lines from its standard input, each the module to run and its settings, and writes lines of
``started NUMBER PID`` and ``ended PID CODE``.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import select
import signal
import sys
from importlib import import_module
from pathlib import Path

from torture.preparing import prepare, skew
from torture.settings import Settings, read

_PR_SET_PDEATHSIG = 1


def main(settings: Settings) -> None:
    # Whoever asks for the end by the keyboard asks everybody; the run itself sees to it that all end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare(settings)
    logging.basicConfig(level=logging.CRITICAL)
    modules = [
        "torture.worker",
        "torture.producer",
        "torture.interrupted",
        "torture.operations",
        "torture.watched",
        _store(settings.url),
    ]
    for module in [*modules, "torture.supervised", "holdfast.supervisor"] if settings.supervised else modules:
        import_module(module)
    _emit("ready")
    buffer = b""
    number = 0
    while True:
        readable, _, _ = select.select([0], [], [], 0.02)
        if readable:
            data = os.read(0, 1 << 16)
            if not data:
                return
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                number += 1
                module, _, text = line.decode().partition(" ")
                _emit(f"started {number} {_fork(module, text)}")
        _bury()


def _fork(module: str, text: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        follow_parent()
        settings = read(text)
        log = os.open(Path(settings.folder) / f"{settings.name}.log", os.O_WRONLY | os.O_CREAT, 0o644)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(log, 2)
        if settings.skew:
            skew(settings.skew)
        running = import_module(module).main(settings)
        if asyncio.iscoroutine(running):
            asyncio.run(running)
        code = 0
    except BaseException:
        logging.getLogger("torture").critical("the process broke", exc_info=True)
    finally:
        os._exit(code)


def _bury() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _emit(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _emit(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _store(url: str) -> str:
    scheme = url.partition(":")[0]
    return "holdfast.stores." + {"postgresql": "postgres"}.get(scheme, scheme)


def follow_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """End when the parent does, however that is."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)


def stop_once() -> None:
    """Asked to stop, leave no server, disk or process behind; asked again, go on with that."""

    def stop(number: int, frame: object) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)


if __name__ == "__main__":
    main(read(sys.argv[1]))
