"""The thread of all transactions of async code. There is one transaction at a time, because SQLite has one writer.

The next transaction begins directly after the end of the last one, without waiting for another thread to wake up. The
event loop is woken once for both answers, that of the new transaction first: it has the write lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.stores.sqlite.connection.threads import ThreadPool


class Answer(NamedTuple):
    """A call in an event loop."""

    loop: asyncio.AbstractEventLoop
    call: Callable[..., object]
    args: tuple[Any, ...]
    if_closed: Callable[[], None] | None = None
    """Called instead if the loop is closed."""


class TransactionThread(ThreadPool):
    """One thread. Work of the thread begins the next transaction, and its answers are collected until it is done."""

    def __init__(self) -> None:
        super().__init__(1, "holdfast-sqlite-transactions")
        self._begin: Callable[[], None] | None = None
        self._answers: list[Answer] = []

    def begin(self, work: Callable[[], None]) -> None:
        """Begin a transaction in the thread. Called by work of the thread, it begins directly after this work."""
        if threading.current_thread() is self._threads[0]:
            self._begin = work
        else:
            self.submit(work)

    def answer_first(self, answer: Answer) -> None:
        """Answer before the other answers. Called by work of the thread."""
        self._answers.insert(0, answer)

    def send_answers(self) -> None:
        """Send the answers that wait, before the thread waits itself. Called by work of the thread."""
        answers, self._answers = self._answers, []
        while answers:
            loop = answers[0].loop
            some = [answer for answer in answers if answer.loop is loop]
            answers = [answer for answer in answers if answer.loop is not loop]
            try:
                loop.call_soon_threadsafe(_call_all, some)
            except RuntimeError:  # the loop is closed, so no task waits there
                for answer in some:
                    if answer.if_closed is not None:
                        answer.if_closed()

    def _answer(self, loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: Any) -> None:
        self._answers.append(Answer(loop, call, args))

    def _work_done(self) -> None:
        while True:
            while (begin := self._begin) is not None:
                self._begin = None
                begin()
            self.send_answers()
            if self._begin is None:  # a transaction that is rolled back, because its loop is closed, begins the next
                return


def _call_all(answers: list[Answer]) -> None:
    for answer in answers:
        answer.call(*answer.args)
