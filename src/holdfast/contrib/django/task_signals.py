"""Sends Django's signal `task_finished` after the commit that ended a task."""

from __future__ import annotations

import asyncio
import logging
import threading
from queue import SimpleQueue
from typing import Any, cast

from asgiref.sync import sync_to_async

from holdfast.contrib.django.checked_connections import checked_connections
from holdfast.engine.events import Event

KINDS = frozenset({"completed", "failed", "cancelled"})
_JOIN = 5.0
"""Seconds that receivers have at the end of a worker."""

_log = logging.getLogger("holdfast.django")


class FinishedSignals:
    """Sends signals outside of the event loop: their receivers are plain functions, which may use models."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def receive(self, event: Event, *, in_test: bool) -> None:
        """An event of a client or a worker, after its commit."""
        from holdfast.contrib.django.task_types import is_task

        if event.kind not in KINDS or event.type is None or not is_task(event.type):
            return
        if not _on_event_loop():
            _send(event)  # of a client, in the thread of its caller
            return
        self._queue.put(event)
        with self._lock:
            if self._thread is None and not in_test:
                self._thread = threading.Thread(target=self._serve, name="holdfast-django-signals", daemon=True)
                self._thread.start()

    async def close(self) -> None:
        """Send what is left."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            await sync_to_async(self._send_rest)()
            return
        self._queue.put(None)
        await asyncio.to_thread(thread.join, _JOIN)

    def _serve(self) -> None:
        while (event := self._queue.get()) is not None:
            with checked_connections():
                _send(event)

    def _send_rest(self) -> None:
        while not self._queue.empty():
            event = self._queue.get()
            if event is not None:
                _send(event)


def _send(event: Event) -> None:
    from holdfast.contrib.django.clients import client
    from holdfast.contrib.django.task_results import stored_result
    from holdfast.contrib.django.tasks_api import task_finished

    try:
        report = client().report(event.job_id or "")
        if report is None:
            return  # deleted meanwhile
        result = stored_result(report)
        sender = cast("Any", type(cast("object", result.task.get_backend())))
        try:
            if event.cause is not None:
                raise event.cause  # the receiver that logs the end reads the current exception
            task_finished.send(sender=sender, task_result=result)
        except BaseException as error:
            if error is not event.cause:
                raise
            task_finished.send(sender=sender, task_result=result)
    except Exception:
        _log.exception("the signal task_finished of job %s was not sent", event.job_id)


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
