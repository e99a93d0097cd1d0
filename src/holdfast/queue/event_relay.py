"""Translates events of the engine in this process to events of a queue."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from holdfast.core.lifecycle import Settlement
from holdfast.core.permanent_failure import has_attempts_left
from holdfast.core.record import Record, Status
from holdfast.engine.events import Event
from holdfast.errors import AttemptsExhausted, HoldfastError, JobFailed
from holdfast.queue.callbacks import Callbacks
from holdfast.queue.queue_type import QueueType

EVENTS = (
    "started", "stopped", "enqueued", "completed", "failed", "failing", "requeued", "cancelled", "stalled", "error",
)  # fmt: skip


class Relay:
    """An observer that calls the callbacks of a queue. It ignores events of other job types."""

    def __init__(self, type: QueueType, callbacks: Callbacks) -> None:
        self._type = type
        self._callbacks = callbacks
        self._concluded: dict[str, tuple[Record, Settlement]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def wants(self, kind: str) -> bool:
        """False for `created` while no listener takes `enqueued`."""
        return kind != "created" or self._callbacks.wants("enqueued")

    def attach(self) -> None:
        """Call callbacks on the event loop of this thread, also for events of other threads."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def expect(self, record: Record, settlement: Settlement) -> None:
        """Keep a settlement until the event that reports it: events contain no results."""
        self._concluded[record.id] = (record, settlement)

    def forget(self) -> None:
        """Drop the settlements that were not reported."""
        self._concluded.clear()

    def __call__(self, event: Event) -> None:
        if event.type not in (None, self._type.name):
            return
        if self._loop is None or threading.get_ident() == self._thread:
            self._emit(event)
            return
        try:
            self._loop.call_soon_threadsafe(self._emit, event)
        except RuntimeError:  # the event loop is closed, so the queue has stopped
            return

    def _emit(self, event: Event) -> None:
        emit = self._callbacks.emit
        match event.kind:
            case "created":
                emit("enqueued", event.key)
            case "completed":
                self._completed(event)
            case "failed":
                emit("failed", event.key, self._failure(event))
            case "retrying":
                emit("failing", event.key, event.error, event.attempt)
            case "released" | "rescheduled" | "mismatched":
                emit("requeued", event.key)
            case "cancelled":
                emit("cancelled", event.key)
            case "reaped":
                emit("stalled", event.key)
            case "lost" if event.job_id is not None:
                self._concluded.pop(event.job_id, None)
            case "store_error":
                emit("error", event.cause or HoldfastError(event.detail or "the store failed"))
            case _:
                pass

    def _completed(self, event: Event) -> None:
        result: Any = None
        concluded = self._concluded.pop(event.job_id or "", None)
        if concluded is not None and self._callbacks.wants("completed"):
            output = concluded[1].output
            try:
                result = None if output is None else self._type.decode_output(output)
            except Exception as error:
                self._callbacks.emit("error", error)
        self._callbacks.emit("completed", event.key, result)

    def _failure(self, event: Event) -> JobFailed:
        concluded = self._concluded.pop(event.job_id or "", None)
        # Without a conclusion the reaper failed the job. It does so only when the attempts are used up.
        early = concluded is not None and concluded[1].status is Status.FAILED and _spares_attempts(*concluded)
        record = event.record
        payload = None if record is None else self._type.payload_of(record)
        error = JobFailed if early else AttemptsExhausted
        return error(event.key or "", event.error, payload=payload, attempts=event.attempt)


def _spares_attempts(record: Record, settlement: Settlement) -> bool:
    """Whether the job failed before its attempts were used up. A mismatch uses no attempt."""
    return settlement.outcome == "mismatched" or has_attempts_left(record)
