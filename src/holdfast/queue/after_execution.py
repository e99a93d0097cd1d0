"""The hook that sees every result and final error before it is stored."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from holdfast.core.clock import SECOND, duration, to_datetime
from holdfast.core.failure import describe
from holdfast.core.lifecycle import Mismatched, Outcome, Raised, Settlement
from holdfast.core.record import Record
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.interruption import ends_task
from holdfast.queue.queue_type import QueueType
from holdfast.registry.options import check_duration

P = TypeVar("P")
R = TypeVar("R")


@dataclass(slots=True)
class Execution(Generic[P, R]):
    """A job that was executed for the last time. The hook may set `result`, `error` and `result_ttl`.

    What it sets on anything else is ignored.
    """

    id: str
    payload: P = field(repr=False)
    status: Literal["completed", "failed"]
    attempts: int
    max_attempts: int | None
    """None is for ever."""
    created_at: datetime
    started_at: datetime
    worker: str | None
    result_ttl: Seconds | None
    """None is for ever."""
    result: R | None = field(default=None, repr=False)
    """What callers will get, if it completed."""
    error: BaseException | None = None
    """What the last attempt raised, if it failed."""


Hook = Callable[[Execution[Any, Any]], Awaitable[None] | None]


class AfterExecution:
    """Runs the hook after a success, or after the last attempt that failed, before anything is written.

    Its changes are taken all together or, if it raises or leaves something that cannot be stored, not at all; that is
    reported. It runs on the event loop, in the job's slot, while the lease is still renewed.
    """

    def __init__(self, type: QueueType, hook: Hook, report: Callable[[BaseException], None]) -> None:
        self._type = type
        self._hook = hook
        self._report = report

    async def __call__(self, record: Record, outcome: Outcome, settlement: Settlement) -> Settlement:
        """What shall be written, given what would be."""
        if isinstance(outcome, Mismatched):
            return settlement  # nothing was executed
        try:
            execution = self._execution(record, outcome, settlement)
            before = copy.copy(execution)
            answer = self._hook(execution)
            if inspect.isawaitable(answer):
                await answer
            return self._changed(settlement, before, execution)
        except BaseException as error:  # SystemExit too: a hook, like a handler, does not end its worker
            task = asyncio.current_task()
            if task is None or ends_task(error, task):
                raise
            self._report(error)
            return settlement

    def _execution(self, record: Record, outcome: Outcome, settlement: Settlement) -> Execution[Any, Any]:
        error = outcome.error if isinstance(outcome, Raised) else None
        keep = record.keep if settlement.keep is None else settlement.keep
        return Execution(
            id=record.key or record.id,
            payload=self._type.decode_payload(record.input),
            status="completed" if error is None else "failed",
            attempts=record.attempt,
            max_attempts=record.max_attempts or None,
            created_at=to_datetime(record.created_at),
            started_at=to_datetime(record.started_at or record.created_at),
            worker=record.worker,
            result_ttl=None if keep is None else keep / SECOND,
            result=None if settlement.output is None else self._type.decode_output(settlement.output),
            error=error,
        )

    def _changed(self, settlement: Settlement, before: Execution[Any, Any], after: Execution[Any, Any]) -> Settlement:
        if after.result_ttl != before.result_ttl:
            if after.result_ttl is None:
                raise TypeError("result_ttl must be seconds or a timedelta, not None")
            check_duration("result_ttl", after.result_ttl)
            settlement = replace(settlement, keep=duration(seconds(after.result_ttl)))
        if before.status == "completed":
            # Encoded anew even if it is the same object: the hook may have changed it in place.
            return replace(settlement, output=self._type.encode_output(after.result))
        if after.error is not None and after.error is not before.error:
            if not isinstance(after.error, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"error must be an exception, not {type(after.error).__name__}")
            settlement = replace(settlement, error=describe(after.error))
        return settlement
