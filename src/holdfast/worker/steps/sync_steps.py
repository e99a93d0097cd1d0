"""The steps of a plain handler: the methods of SyncAttempt, and of the attempt in a child process."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, overload

from holdfast.codec.codec import Codec
from holdfast.core.retry import Retry, Seconds
from holdfast.engine.generators import drive
from holdfast.errors import StepTimeout
from holdfast.worker.steps.calls import check_options
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.results import NOT_GIVEN, encoded, is_async, result_codec
from holdfast.worker.steps.step_logic import SharedStep, itself
from holdfast.worker.steps.sync_waits import SyncWaits
from holdfast.worker.threads import Ended

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class SyncSteps(SyncWaits, SharedStep):
    """`step`, `sleep`, `sleep_until`, `receive`, `cursor` and `step_id` of a plain handler."""

    @overload
    def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def step(
        self, name: str, function: Callable[[*Ts], R], /, *args: *Ts,
        each: Any = ..., returns: Any = ..., retry: Retry | None = None, timeout: Seconds | None = None,
    ) -> R: ...  # fmt: skip

    def step(  # type: ignore[misc]  # mypy does not accept *args: Any for *args: *Ts
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        each: Any = NOT_GIVEN,
        returns: Any = NOT_GIVEN,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call a function once: its result is stored, and a later attempt gets the stored result.

        The result has the type of the return annotation, or of `returns=`; without both it consists of plain JSON
        values. `each` distinguishes the uses of a name in a loop. `retry` and `timeout` apply within this attempt. A
        function that exceeds its timeout continues in its thread, and its result is dropped. Raises RuntimeError for a
        name that the attempt has used.
        """
        check_options(kwargs, each=each, returns=returns, retry=retry, timeout=timeout)
        check_plain(name, function)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        call = partial(function, *args, **kwargs)
        logic = self._stored(key, codec, partial(self._call, call, codec, key), retry, timeout)
        return drive(logic, itself)

    def step_id(self, name: str, /, *, each: Any = NOT_GIVEN) -> str:
        """An idempotency key for the requests of a step: the same in every attempt, until `retry(from_step=...)`."""
        return self._steps.log.step_id(name, each)

    # Implementation

    def _pause(self, delay: float) -> None:
        self._steps.pause(delay)

    def _limited(self, key: Key, once: Callable[[], bytes], limit: float) -> bytes:
        try:
            return _within(limit, key.name, once)
        except StepTimeout:
            self._timed_out(key)
            raise

    def _timed_out(self, key: Key) -> None:
        """Called when a try of this step has exceeded its timeout. The try continues in its thread."""

    def _call(self, call: Callable[[], Any], codec: Codec, key: Key) -> bytes:
        token = inside_step.set("step")
        try:
            value = call()
        finally:
            inside_step.reset(token)
        return encoded(key.name, codec, value)


def check_plain(name: str, function: Callable[..., Any]) -> None:
    """Raises TypeError for an async function: a plain handler cannot await it."""
    if is_async(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"step {name!r}: an async function needs an async handler, with an Attempt")


def _within(limit: float, name: str, once: Callable[[], R]) -> R:
    """Call a function in another thread. Raises StepTimeout after the limit; the result of the thread is then lost."""
    ended: list[Ended[R]] = []

    def run() -> None:
        try:
            ended.append(Ended(once(), None))
        except BaseException as error:
            ended.append(Ended(None, error))

    thread = threading.Thread(target=partial(copy_context().run, run), name=f"holdfast-step-{name}", daemon=True)
    thread.start()
    thread.join(limit)
    if not ended:
        raise StepTimeout(name, limit)
    return ended[0].value()
