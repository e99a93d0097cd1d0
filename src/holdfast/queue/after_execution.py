"""The hook that runs before a result or a final error is stored."""

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
from holdfast.core.error_groups import classify
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
    """A job after its last attempt. The hook may set `result`, `error` and `result_ttl`; other changes are ignored."""

    id: str
    payload: P = field(repr=False)
    status: Literal["completed", "failed"]
    attempts: int
    max_attempts: int | None
    """None: no limit."""
    created_at: datetime
    started_at: datetime
    worker: str | None
    result_ttl: Seconds | None
    """None: the result is kept forever."""
    result: R | None = field(default=None, repr=False)
    """The result that callers get, if the job completed."""
    error: BaseException | None = None
    """The exception of the last attempt, if the job failed."""


Hook = Callable[[Execution[Any, Any]], Awaitable[None] | None]


class AfterExecution:
    """Runs the hook after a success, or after the last attempt that failed, before the settlement is written.

    If the hook raises, or sets a value that cannot be stored, the error is reported and none of its changes is stored.
    The hook runs on the event loop, in the slot of the job, while the worker renews the lease.
    """

    def __init__(self, type: QueueType, hook: Hook, report: Callable[[BaseException], None]) -> None:
        self._type = type
        self._hook = hook
        self._report = report

    async def __call__(self, record: Record, outcome: Outcome, settlement: Settlement) -> Settlement:
        """The settlement to write, after the hook changed this one."""
        if isinstance(outcome, Mismatched):
            return settlement  # the handler was not called
        try:
            execution = self._execution(record, outcome, settlement)
            before = copy.copy(execution)
            answer = self._hook(execution)
            if inspect.isawaitable(answer):
                await answer
            return self._changed(settlement, before, execution)
        except BaseException as error:  # SystemExit too: a hook must not end the worker
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
            # Encode again also if it is the same object: the hook may have changed it in place.
            return replace(settlement, output=self._type.encode_output(after.result))
        if after.error is not None and after.error is not before.error:
            if not isinstance(after.error, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"error must be an exception, not {type(after.error).__name__}")
            stored = describe(after.error)
            failure = None if settlement.failure is None else classify(self._type.name, stored)
            settlement = replace(settlement, error=stored, failure=failure)
        return settlement
