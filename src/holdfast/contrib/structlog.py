"""structlog: the current job in each log entry, and one entry with the traceback of each failed attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from holdfast.core.failure import from_handler
from holdfast.engine.events import Event
from holdfast.errors import MissingExtra
from holdfast.registry.plugin import Plugin

try:
    import structlog
    from structlog.contextvars import bound_contextvars
except ModuleNotFoundError as error:
    raise MissingExtra("holdfast.contrib.structlog", "structlog") from error


class Structlog(Plugin):
    """Binds `job_id`, `chain_id`, `job_type` and `attempt` while a handler runs: ``Jobs(plugins=[Structlog()])``.

    They are in structlog's context variables, so the processor `structlog.contextvars.merge_contextvars` adds them to
    each entry, also in threads and child processes. `logger` logs failed attempts; by default `get_logger("holdfast")`.
    """

    logs_tracebacks = True
    """The record of the same event in the standard log then has no traceback."""

    def __init__(self, logger: Any = None) -> None:
        self._logger = structlog.get_logger("holdfast") if logger is None else logger

    def wants(self, kind: str) -> bool:
        return kind in ("failed", "retrying")

    def observe(self, event: Event, /) -> None:
        if event.kind not in ("failed", "retrying"):
            return
        log = self._logger.error if event.kind == "failed" else self._logger.warning
        cause = event.cause
        exc_info = None if cause is None else (type(cause), cause, from_handler(cause.__traceback__))
        details = {"worker": event.worker, "error": str(event.error), "detail": event.detail}
        log(
            f"attempt {event.kind}", job_id=event.job_id, chain_id=event.chain_id, job_type=event.type,
            attempt=event.attempt, exc_info=exc_info, **details,
        )  # fmt: skip

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        with bound_contextvars(**_keys(attempt)):
            return await call_next()

    def in_child(self, attempt: Any, /) -> Callable[[], AbstractContextManager[Any]]:
        return partial(bound_contextvars, **_keys(attempt))


def _keys(attempt: Any) -> dict[str, Any]:
    job = attempt.job
    return {"job_id": job.id, "chain_id": job.chain_id, "job_type": job.type, "attempt": job.attempt}
