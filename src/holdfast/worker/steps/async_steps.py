"""The steps of an async handler: the methods of Attempt."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple, overload

from holdfast.codec.codec import Codec
from holdfast.core.retry import Retry, Seconds
from holdfast.engine.generators import drive_async
from holdfast.engine.unawaited import check_statements
from holdfast.errors import StepTimeout
from holdfast.worker.steps import tx_step_logic
from holdfast.worker.steps.async_waits import AsyncWaits
from holdfast.worker.steps.calls import check_options
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.results import NOT_GIVEN, encoded, is_async, result_codec
from holdfast.worker.steps.step_logic import SharedStep, itself
from holdfast.worker.steps.tx_step_logic import CallInTx, SharedTxStep

if TYPE_CHECKING:
    from holdfast.worker.attempt_blocks import Begin, Commit, Perform, RollBack
    from holdfast.worker.threads import Threads

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AsyncSteps(AsyncWaits, SharedStep, SharedTxStep):
    """`step`, `tx_step`, `sleep`, `sleep_until`, `receive`, `cursor` and `step_id` of an async handler."""

    if TYPE_CHECKING:
        _threads: Threads

        def _await(self, request: Begin | Perform | Commit | RollBack) -> Coroutine[Any, Any, Any]: ...

    @overload
    def step(
        self, name: str, function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    @overload
    def step(
        self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    @overload
    def step(
        self, name: str, function: Callable[[*Ts], Coroutine[Any, Any, R]], /, *args: *Ts,
        each: Any = ..., returns: Any = ..., retry: Retry | None = None, timeout: Seconds | None = None,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip

    @overload
    def step(
        self, name: str, function: Callable[[*Ts], R], /, *args: *Ts,
        each: Any = ..., returns: Any = ..., retry: Retry | None = None, timeout: Seconds | None = None,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip

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
    ) -> Coroutine[Any, Any, Any]:
        """Call a function once: its result is stored, and a later attempt gets the stored result.

        An async function is awaited, a plain one runs in a thread. The result has the type of the return annotation, or
        of `returns=`; without both it consists of plain JSON values. `each` distinguishes the uses of a name in a loop.
        `retry` and `timeout` apply within this attempt. Raises RuntimeError for a name that the attempt has used.
        """
        if kwargs or timeout is not None:
            check_options(kwargs, each=each, returns=returns, retry=retry, timeout=timeout)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        call = partial(function, *args, **kwargs)
        once = partial(self._call, call, codec, key, threaded=not is_async(function))
        return self._track("attempt.step(...)", drive_async(self._stored(key, codec, once, retry, timeout), itself))

    @overload
    def tx_step(
        self, name: str, function: Callable[[Any, *Ts], Coroutine[Any, Any, R]], /, *args: *Ts,
        each: Any = ..., returns: Any = ..., retry: Retry | None = None, timeout: Seconds | None = None,
        session: Callable[[], Any] | None = None,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip

    @overload
    def tx_step(
        self, name: str, function: Callable[[Any, *Ts], R], /, *args: *Ts,
        each: Any = ..., returns: Any = ..., retry: Retry | None = None, timeout: Seconds | None = None,
        session: Callable[[], Any] | None = None,
    ) -> Coroutine[Any, Any, R]: ...  # fmt: skip

    def tx_step(  # type: ignore[misc]  # mypy does not accept *args: Any for *args: *Ts
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        each: Any = NOT_GIVEN,
        returns: Any = NOT_GIVEN,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        session: Callable[[], Any] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Call `function(tx, *args)` once: its writes, its result and the checkpoint are one commit.

        `tx` is the connection or session, as in `complete()`; None on Redis and memory. The commit happens only if the
        attempt still holds the job. A plain function is called on the event loop: it must not block.
        """
        check_options({}, timeout=timeout)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        call = partial(_with_tx, function, args)
        once = partial(self._call_in_transaction, call, codec, key, session, repeated=retry is not None)
        logic = self._stored(key, codec, once, retry, timeout, saved=True)
        return self._track("attempt.tx_step(...)", drive_async(logic, itself))

    def step_id(self, name: str, /, *, each: Any = NOT_GIVEN) -> str:
        """An idempotency key for the requests of a step: the same in every attempt, until `retry(from_step=...)`."""
        return self._steps.log.step_id(name, each)

    # Implementation

    def _pause(self, delay: float) -> Awaitable[None]:
        return asyncio.sleep(delay)

    async def _limited(self, key: Key, once: Callable[[], Awaitable[bytes]], limit: float) -> bytes:
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await once()
        except TimeoutError as error:
            if scope.expired():
                raise StepTimeout(key.name, limit) from error
            raise

    async def _call(self, call: Callable[[], Any], codec: Codec, key: Key, *, threaded: bool) -> bytes:
        token = inside_step.set("step")
        try:
            value = await (self._threads.run(partial(copy_context().run, call)) if threaded else call())
        finally:
            inside_step.reset(token)
        return encoded(key.name, codec, value)

    def _call_in_transaction(
        self, call: Callable[[Any], Any], codec: Codec, key: Key, session: Callable[[], Any] | None, *, repeated: bool
    ) -> Awaitable[bytes]:
        logic = self._in_transaction(self._steps.log, call, codec, key, session, repeated=repeated)
        return drive_async(logic, self._await_in_transaction)

    def _await_in_transaction(self, request: tx_step_logic.Request) -> Awaitable[Any]:
        return _value(request) if isinstance(request, CallInTx) else self._await(request)


async def _value(request: CallInTx) -> Any:
    value = request.call(request.tx.native)
    value = await value if inspect.isawaitable(value) else value
    check_statements(request.tx)
    return value


def _with_tx(function: Callable[..., Any], args: tuple[Any, ...], tx: Any) -> Any:
    return function(tx, *args)
