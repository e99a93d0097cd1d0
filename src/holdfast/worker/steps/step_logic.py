"""The logic of a step, written once for async and plain handlers.

It is a generator that makes the calls itself and yields their results. In async code these are awaitables, which
`drive_async` awaits. In blocking code these are values, which `drive` sends back. To yield request objects, as in
`attempt_blocks`, would cost 3 µs per step.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from holdfast.codec.codec import Codec
from holdfast.core.clock import Micros, duration
from holdfast.core.failure import describe
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.core.steps import Checkpoint
from holdfast.errors import HoldfastError
from holdfast.worker.steps.calls import check_kind, is_failure, retry_delay
from holdfast.worker.steps.log import Key, StepLog
from holdfast.worker.steps.results import decoded

R = TypeVar("R")
V = TypeVar("V")

StepLogic = Generator[Any, Any, R]


class StepAccess(Protocol):
    """What the logic needs from the worker. In async code the methods return awaitables of these results."""

    @property
    def log(self) -> StepLog:
        """The steps of the attempt."""
        ...

    def now(self) -> Micros:
        """The time of the store."""
        ...

    def load(self) -> Awaitable[None] | None:
        """Read the stored steps, once."""
        ...

    def save(self, checkpoint: Checkpoint) -> Awaitable[Checkpoint] | Checkpoint:
        """Store a step, and return what is stored: see `AttemptSteps.save`. Raises ClaimLost."""
        ...

    def message(self, name: str) -> Awaitable[bytes | None] | bytes | None:
        """The message of the chain with this name."""
        ...


class SharedStep:
    """The common part of `step` and `tx_step`, of async and plain handlers."""

    _steps: Any
    """A StepAccess."""

    def _stored(
        self,
        key: Key,
        codec: Codec,
        once: Callable[[], Any],
        retry: Retry | None,
        timeout: Seconds | None,
        *,
        saved: bool = False,
    ) -> StepLogic[Any]:
        """The stored result, or the result of `once`. With `saved`, `once` stores the checkpoint itself."""
        steps: StepAccess = self._steps
        log = steps.log
        log.begin()
        try:
            if not log.loaded:
                yield steps.load()
            row = log.row(key)
            if row is not None and row.final:
                check_kind(row, key, "step")
                return decoded(log.record.id, row, codec)
            began = time.monotonic()
            try:
                with log.wrapped(key):
                    if retry is None and timeout is None:
                        payload = yield once()
                    else:
                        payload = yield from self._tries(key, once, retry, timeout)
                if not saved:
                    took = duration(time.monotonic() - began)
                    yield steps.save(log.checkpoint(key, "step", result=payload, took=took))
            except Exception as error:
                if is_failure(error):
                    with suppress(HoldfastError):
                        took = duration(time.monotonic() - began)
                        yield steps.save(log.checkpoint(key, "step", error=describe(error), took=took))
                raise
            return codec.decode(payload)
        finally:
            log.end()

    def _tries(
        self, key: Key, once: Callable[[], Any], retry: Retry | None, timeout: Seconds | None
    ) -> StepLogic[bytes]:
        limit, tries = None if timeout is None else seconds(timeout), 0
        while True:
            tries += 1
            try:
                payload: bytes = yield once() if limit is None else self._limited(key, once, limit)
            except Exception as error:
                delay = retry_delay(retry, tries, error)
                if delay is None:
                    raise
            else:
                return payload
            yield self._pause(delay)

    def _limited(self, key: Key, once: Callable[[], Any], limit: float) -> Any:
        """Call a function. Raises StepTimeout after `limit` seconds."""
        raise NotImplementedError

    def _pause(self, delay: float) -> Any:
        """Wait between two tries, in the running attempt."""
        raise NotImplementedError


def itself(result: V) -> V:
    """The function that the drivers apply to each yielded result: the generator has already made the call."""
    return result
