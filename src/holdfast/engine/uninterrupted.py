"""Work that an exception of a signal handler cannot interrupt.

CPython runs signal handlers in the main thread only. The handler may run at the start of a Python function, after
each call of a function written in C, at a backward jump, and inside a C function that waits. An exception that the
handler raises therefore appears at any of these points, also inside `finally`. It never appears inside a C function
that does not wait, between `with lock:` and the first call in its body, or in another thread.

Three rules keep blocking code correct:

- Opening, closing and the ends of transactions run in a thread of their own, which the main thread waits for.
- A path that must not pay for a thread records ownership in the shared state before it waits, and gives it up with a
  single C call that is the first thing in a `finally`. Such a path uses `threading.Lock` and `SimpleQueue`, which are
  C objects, and no `threading.Event`, `Condition` or `Semaphore`, whose Python code can be interrupted with the lock
  held.
- No loop is directly inside `with` or `try`. From Python 3.12 on, the jump back to the start of its body is not always
  part of the block, so an exception that appears there skips `finally` and leaves the lock held. The loop is a function
  of its own, which the block calls.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

R = TypeVar("R")


def in_main_thread() -> bool:
    """Whether signal handlers run in this thread."""
    return threading.get_ident() == threading.main_thread().ident


def uninterrupted(work: Callable[[], R], *, undo: Callable[[R], object] | None = None) -> R:
    """Do the work where no signal handler runs, and wait for its outcome.

    An exception of a signal handler ends the wait, not the work. `undo` is then called with what the work returns, in
    another thread. Outside the main thread, and if no thread can be started, the work runs in this thread.
    """
    if not in_main_thread():
        return work()
    outcome = _Outcome(work)
    try:
        try:
            _thread.start_new_thread(outcome.run, ())
        except RuntimeError:  # no thread can be started now
            outcome.run()
        with outcome.finished:
            return outcome.result()
    except BaseException:
        if undo is not None and outcome.error is None:
            _thread.start_new_thread(outcome.undo, (undo,))
        raise


class _Outcome(Generic[R]):
    """The result of the work, or its exception. `finished` is locked until the work has ended."""

    def __init__(self, work: Callable[[], R]) -> None:
        self._work = work
        self.answer: Any = None
        self.error: BaseException | None = None
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self) -> None:
        try:
            self.answer = self._work()
        except BaseException as error:
            self.error = error
        finally:
            self.finished.release()

    def result(self) -> R:
        if self.error is not None:
            raise self.error
        answer: R = self.answer
        return answer

    def undo(self, undo: Callable[[R], object]) -> None:
        with self.finished:
            if self.error is None:
                undo(self.answer)
