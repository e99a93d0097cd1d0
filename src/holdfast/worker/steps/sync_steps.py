"""The steps of a plain handler: the methods of SyncAttempt, and of the attempt in a child process."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple, overload

from holdfast.codec.codec import Codec
from holdfast.core.clock import duration
from holdfast.core.failure import describe
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.errors import HoldfastError, StepTimeout
from holdfast.worker.steps.calls import check_kind, check_options, is_failure, retry_delay
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.results import NOT_GIVEN, decoded, encoded, is_async, result_codec
from holdfast.worker.steps.sync_waits import SyncWaits
from holdfast.worker.threads import Ended

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SyncSteps(SyncWaits):
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
        function that exceeds its timeout continues in its thread, and its result is dropped. RuntimeError for a name
        that the attempt has used.
        """
        check_options(kwargs, each=each, returns=returns, retry=retry, timeout=timeout)
        check_plain(name, function)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        call = partial(function, *args, **kwargs)
        return self._stored(key, codec, partial(self._call, call, codec, key), retry, timeout)

    def step_id(self, name: str, /, *, each: Any = NOT_GIVEN) -> str:
        """An idempotency key for the requests of a step: the same in every attempt, until `retry(from_step=...)`."""
        return self._steps.log.step_id(name, each)

    # Implementation

    def _stored(
        self,
        key: Key,
        codec: Codec,
        once: Callable[[], bytes],
        retry: Retry | None,
        timeout: Seconds | None,
        *,
        saved: bool = False,
    ) -> Any:
        """The stored result, or the result of `once`. `saved`: it stores the checkpoint itself."""
        steps, log = self._steps, self._steps.log
        with log.running():
            steps.load()
            row = log.row(key)
            if row is not None and row.final:
                check_kind(row, key, "step")
                return decoded(self.job.id, row, codec)
            began = time.monotonic()
            try:
                with log.wrapped(key):
                    payload = self._tries(key, once, retry, timeout)
                if not saved:
                    took = duration(time.monotonic() - began)
                    steps.save(log.checkpoint(key, "step", result=payload, took=took))
            except Exception as error:
                if is_failure(error):
                    with suppress(HoldfastError):
                        took = duration(time.monotonic() - began)
                        steps.save(log.checkpoint(key, "step", error=describe(error), took=took))
                raise
            return codec.decode(payload)

    def _tries(self, key: Key, once: Callable[[], bytes], retry: Retry | None, timeout: Seconds | None) -> bytes:
        tries = 0
        while True:
            tries += 1
            try:
                return once() if timeout is None else _within(seconds(timeout), key.name, once)
            except Exception as error:
                if isinstance(error, StepTimeout):
                    self._timed_out(key)
                delay = retry_delay(retry, tries, error)
                if delay is None:
                    raise
            self._steps.pause(delay)

    def _timed_out(self, key: Key) -> None:
        """A try of this step has exceeded its timeout, and continues in its thread."""

    def _call(self, call: Callable[[], Any], codec: Codec, key: Key) -> bytes:
        token = inside_step.set("step")
        try:
            value = call()
        finally:
            inside_step.reset(token)
        return encoded(key.name, codec, value)


def check_plain(name: str, function: Callable[..., Any]) -> None:
    """TypeError for an async function: a plain handler cannot await it."""
    if is_async(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"step {name!r}: an async function needs an async handler, with an Attempt")


def _within(limit: float, name: str, once: Callable[[], R]) -> R:
    """Call a function in another thread. StepTimeout after the limit; the thread continues, and its result is lost."""
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
