"""A producer process with a blocking client. A signal handler interrupts its calls at random points.

What an interrupted call did is unknown, so its outcome is `info`. After each interruption the client starts a chain
without one, again and again until it succeeds: the checker measures how long that takes.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from holdfast import (
    Bound,
    ChainCancelled,
    ChainFailed,
    ChainNotFound,
    HoldfastError,
    StoreUnavailable,
    SyncClient,
    WaitTimeout,
)
from holdfast.core.ids import new_id
from torture.history import History, Outcome
from torture.jobs import approval, jobs, keyed, work
from torture.plans import brisk, instant
from torture.sampling import BEAT, SAMPLE_EVERY, resident_megabytes
from torture.settings import Settings

Body = Callable[[dict[str, Any]], None]

AT_THE_END = 30.0
"""Seconds after the load in which the client must work again. Then the process logs its stacks and exits."""
PAUSE = 0.1
"""Seconds between two calls after an interruption, until one succeeds."""
KEYS = 5


class SoftTimeLimit(Exception):
    """The exception of an application's own time limit. The other interrupting exception is KeyboardInterrupt."""


class Interruptions:
    """Raises an exception in the main thread a given time after a call has begun."""

    def __init__(self, rng: random.Random) -> None:
        self.happened = False
        """Whether the last call was interrupted."""
        self._random = rng
        self._armed = False
        self._error: type[BaseException] = SoftTimeLimit
        signal.signal(signal.SIGALRM, self._interrupt)

    def during(self, call: Callable[[], None], seconds: float | None) -> None:
        """Make the call. With `seconds`, interrupt it after that time unless it has ended before."""
        self.happened = False
        self._error = self._random.choice((SoftTimeLimit, KeyboardInterrupt))
        if seconds is None:
            call()
            return
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            self._armed = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed, self.happened = False, True
            raise self._error


class InterruptedProducer:
    """Performs random operations, one after the other, for a given number of seconds."""

    def __init__(self, settings: Settings, history: History, client: SyncClient) -> None:
        self.settings = settings
        self.history = history
        self.client = client
        self.random = random.Random(settings.seed)
        self._interruptions = Interruptions(self.random)
        self._usual = 0.005
        """The usual duration of a start, in seconds."""
        self._recent: deque[str] = deque(maxlen=20)
        self._approvals: deque[str] = deque(maxlen=5)

    def run(self) -> None:
        until = time.monotonic() + self.settings.seconds
        operations = {
            self._start: 5, self._start_batch: 2, self._start_keyed: 2, self._wait: 1, self._cancel: 1,
            self._complete: 1,
        }  # fmt: skip
        while time.monotonic() < until:
            (operation,) = self.random.choices(list(operations), list(operations.values()))
            operation(self.random.uniform(0.00001, 1.5 * self._usual))
            if self._interruptions.happened:
                self.history.note("interrupted", operation=operation.__name__.strip("_"))
                self._work_again(until + AT_THE_END)
            time.sleep(self.random.expovariate(self.settings.rate))

    def _work_again(self, until: float) -> None:
        """Start chains until one call succeeds."""
        while time.monotonic() < until:
            begun = time.monotonic()
            if self._start(None) == "ok":
                self._usual += (min(time.monotonic() - begun, 1.0) - self._usual) / 10
                self.history.note("works again")
                return
            time.sleep(PAUSE)

    def _start(self, seconds: float | None) -> Outcome:
        approve = self.random.random() < 0.1
        bound: Bound[Any] = approval.bind(1) if approve else work.bind(brisk(self.random))
        outcome, ids = self._start_many([bound], seconds)
        if outcome == "ok":
            (self._approvals if approve else self._recent).extend(ids)
        return outcome

    def _start_batch(self, seconds: float | None) -> None:
        number = self.random.randint(2, 5)
        self._start_many([work.bind(instant(self.random)) for _ in range(number)], seconds, together=number)

    def _start_keyed(self, seconds: float | None) -> None:
        key = f"i{self.random.randrange(KEYS)}"
        self._start_many([keyed.bind(brisk(self.random)).options(key=key)], seconds, keyed=True, key=key)

    def _start_many(self, bounds: list[Bound[Any]], seconds: float | None, **noted: Any) -> tuple[Outcome, list[str]]:
        ids = [new_id() for _ in bounds]
        named = [bound.options(id=id) for bound, id in zip(bounds, ids, strict=True)]

        def start(facts: dict[str, Any]) -> None:
            chains = self.client.start_many(named)
            facts["found"] = [chain.id for chain in chains]
            facts["deduplicated"] = [chain.deduplicated for chain in chains]

        return self._call("start", start, seconds, ids=ids, type=bounds[0].type.name, **noted), ids

    def _wait(self, seconds: float | None) -> None:
        if not self._recent:
            return
        chain, timeout = self.random.choice(self._recent), 0.5

        def wait(facts: dict[str, Any]) -> None:
            try:
                output = self.client.wait(chain, timeout=timeout)
                facts["status"], facts["output"] = "completed", output
            except ChainFailed:
                facts["status"] = "failed"
            except ChainCancelled:
                facts["status"] = "cancelled"
            except ChainNotFound:
                facts["status"] = "gone"
            except WaitTimeout:
                facts["status"] = "timeout"

        self._call("wait", wait, seconds, chain=chain, timeout=timeout, without_wakeups=False)

    def _cancel(self, seconds: float | None) -> None:
        if not self._recent:
            return
        chain = self._recent[-1]

        def cancel(facts: dict[str, Any]) -> None:
            facts["status"] = str(self.client.cancel(chain).status)

        self._call("cancel", cancel, seconds, chain=chain)

    def _complete(self, seconds: float | None) -> None:
        if not self._approvals:
            return
        chain = self._approvals.popleft()

        def complete(facts: dict[str, Any]) -> None:
            with self.client.completing(chain) as current:
                facts["job"] = current.job.id
                current.output("from outside")

        self._call("complete", complete, seconds, chain=chain)

    def _call(self, op: str, body: Body, seconds: float | None, **arguments: Any) -> Outcome:
        """Record a call and its outcome. An interrupted call has no known outcome."""

        call = self.history.invoke(op, **arguments)
        facts: dict[str, Any] = {}
        outcome: Outcome = "info"
        try:
            self._interruptions.during(lambda: body(facts), seconds)
            outcome = "ok"
        except (SoftTimeLimit, KeyboardInterrupt) as error:
            facts = {"error": type(error).__name__}
        except StoreUnavailable as error:
            facts["error"] = str(error)
        except HoldfastError as error:
            outcome = "info" if self._interruptions.happened else "fail"
            facts["error"] = type(error).__name__
        except Exception as error:
            # SQLite replaces an exception that appears inside its authorizer callback by an error of its own.
            facts["error"] = f"{type(error).__name__}: {error}"
            if not (self._interruptions.happened and isinstance(error, sqlite3.Error)):
                self.history.note("broke", error=facts["error"])
        self.history.answer(call, outcome, **facts)
        return outcome


def main(settings: Settings) -> None:
    """Run a producer in the main thread until its time is over."""

    faulthandler.enable()
    faulthandler.dump_traceback_later(settings.seconds + AT_THE_END + 5, exit=True)
    history = History(Path(settings.folder), settings.name)
    client = SyncClient(settings.url, jobs)
    while True:
        try:
            client.open()
            break
        except StoreUnavailable:
            time.sleep(0.2)
    (Path(settings.folder) / f"{settings.name}.ready").touch()
    threading.Thread(target=_sample, args=(history,), name="sampling", daemon=True).start()
    InterruptedProducer(settings, history, client).run()
    client.close()
    history.note("left", running=0)


def _sample(history: History) -> None:
    """Write beats and samples, independently of the main thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    for beat in count():
        history.note("beat")
        if beat % SAMPLE_EVERY == SAMPLE_EVERY - 1:
            held = {"files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(), "tasks": 0}  # noqa: PTH208
            history.note("sample", **held, memory=resident_megabytes())
        time.sleep(BEAT)
