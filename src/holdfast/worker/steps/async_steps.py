"""The steps of an async handler: the methods of Attempt."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple, overload

from holdfast.codec.codec import Codec
from holdfast.core.clock import duration
from holdfast.core.failure import describe
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.engine.operations import GetSteps, Guard, SaveSteps
from holdfast.engine.rollback import roll_back
from holdfast.engine.unawaited import check_statements
from holdfast.errors import ClaimLost, HoldfastError, StepTimeout
from holdfast.worker.sessions import SessionTransaction
from holdfast.worker.steps.async_waits import AsyncWaits
from holdfast.worker.steps.calls import check_kind, check_options, is_failure, retry_delay
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.repeated_tries import StoredByOther, stored_by_other
from holdfast.worker.steps.results import NOT_GIVEN, decoded, encoded, is_async, result_codec

if TYPE_CHECKING:
    from holdfast.core.record import Claim
    from holdfast.engine.store import Store
    from holdfast.worker.threads import Threads

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AsyncSteps(AsyncWaits):
    """`step`, `tx_step`, `sleep`, `sleep_until`, `receive`, `cursor` and `step_id` of an async handler."""

    if TYPE_CHECKING:
        _threads: Threads
        _store: Store

        @property
        def claim(self) -> Claim: ...
        def _in_block(self, tx: Any, innermost: AbstractContextManager[None]) -> AbstractContextManager[None]: ...
        def _check_signal(self) -> None: ...

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
        `retry` and `timeout` apply within this attempt. RuntimeError for a name that the attempt has used.
        """
        if kwargs or timeout is not None:
            check_options(kwargs, each=each, returns=returns, retry=retry, timeout=timeout)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        call = partial(function, *args, **kwargs)
        once = partial(self._call, call, codec, key, threaded=not is_async(function))
        return self._track("attempt.step(...)", self._stored(key, codec, once, retry, timeout))

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
        once = partial(self._in_transaction, call, codec, key, session, repeated=retry is not None)
        return self._track("attempt.tx_step(...)", self._stored(key, codec, once, retry, timeout, saved=True))

    def step_id(self, name: str, /, *, each: Any = NOT_GIVEN) -> str:
        """An idempotency key for the requests of a step: the same in every attempt, until `retry(from_step=...)`."""
        return self._steps.log.step_id(name, each)

    # Implementation

    async def _stored(
        self,
        key: Key,
        codec: Codec,
        once: Callable[[], Awaitable[bytes]],
        retry: Retry | None,
        timeout: Seconds | None,
        *,
        saved: bool = False,
    ) -> Any:
        """The stored result, or the result of `once`. `saved`: it stores the checkpoint itself."""
        steps, log = self._steps, self._steps.log
        log.begin()
        try:
            if not log.loaded:
                await steps.load()
            row = log.row(key)
            if row is not None and row.final:
                check_kind(row, key, "step")
                return decoded(self.job.id, row, codec)
            began = time.monotonic()
            try:
                with log.wrapped(key):
                    tries = once() if retry is None and timeout is None else self._tries(key, once, retry, timeout)
                    payload = await tries
                if not saved:
                    took = duration(time.monotonic() - began)
                    await steps.save(log.checkpoint(key, "step", result=payload, took=took))
            except Exception as error:
                if is_failure(error):
                    with suppress(HoldfastError):
                        took = duration(time.monotonic() - began)
                        await steps.save(log.checkpoint(key, "step", error=describe(error), took=took))
                raise
            return codec.decode(payload)
        finally:
            log.end()

    async def _tries(
        self, key: Key, once: Callable[[], Awaitable[bytes]], retry: Retry | None, timeout: Seconds | None
    ) -> bytes:
        limit, tries = None if timeout is None else seconds(timeout), 0
        while True:
            tries += 1
            scope = asyncio.timeout(limit)
            try:
                async with scope:
                    return await once()
            except Exception as error:
                expired = isinstance(error, TimeoutError) and scope.expired() and limit is not None
                raised: Exception = StepTimeout(key.name, limit) if expired and limit is not None else error
                delay = retry_delay(retry, tries, raised)
                if delay is None:
                    if raised is error:
                        raise
                    raise raised from error
            await asyncio.sleep(delay)

    async def _call(self, call: Callable[[], Any], codec: Codec, key: Key, *, threaded: bool) -> bytes:
        token = inside_step.set("step")
        try:
            value = await (self._threads.run(partial(copy_context().run, call)) if threaded else call())
        finally:
            inside_step.reset(token)
        return encoded(key.name, codec, value)

    async def _in_transaction(
        self, call: Callable[[Any], Any], codec: Codec, key: Key, session: Callable[[], Any] | None, *, repeated: bool
    ) -> bytes:
        """One try. `repeated`: there may be another one, whose commit succeeded although its answer was lost."""
        tx: Any = await self._store.begin() if session is None else SessionTransaction(self._store, session)
        token, began = inside_step.set("tx_step"), time.monotonic()
        try:
            self._check_signal()
            await tx.perform(Guard(self.claim))
            with self._in_block(tx, nullcontext()):
                value = call(tx.native)
                value = await value if inspect.isawaitable(value) else value
                check_statements(tx)
            payload = encoded(key.name, codec, value)
            took = duration(time.monotonic() - began)
            checkpoint = self._steps.log.checkpoint(key, "step", result=payload, took=took)
            (reason,) = await tx.perform(SaveSteps((checkpoint,)))
            if reason is not None:
                raise ClaimLost(self.job.id, reason)
            if repeated:
                stored_by_other(await tx.perform(GetSteps((self.job.id,))), checkpoint)
        except StoredByOther as other:
            await roll_back(tx, other)
            self._steps.log.adopt([other.row])
            return other.result
        except BaseException as error:
            await roll_back(tx, error)
            raise
        finally:
            inside_step.reset(token)
        await tx.commit()
        self._steps.log.saved(checkpoint)
        return payload


def _with_tx(function: Callable[..., Any], args: tuple[Any, ...], tx: Any) -> Any:
    return function(tx, *args)
