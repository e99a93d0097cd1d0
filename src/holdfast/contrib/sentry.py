"""Sentry: one event per job that failed permanently, and queue spans from the caller to the handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from holdfast.core.failure import from_handler
from holdfast.core.lifecycle import Cancel, Reschedule
from holdfast.errors import MissingExtra
from holdfast.registry.plugin import Plugin, StartingJob
from holdfast.worker.steps.suspended import is_suspension

try:
    import sentry_sdk
    from sentry_sdk.integrations.dedupe import DedupeIntegration
    from sentry_sdk.scope import Scope, add_global_event_processor, use_isolation_scope
except ModuleNotFoundError as error:
    raise MissingExtra("holdfast.contrib.sentry", "sentry") from error

if TYPE_CHECKING:
    from sentry_sdk.types import Event as SentryEvent
    from sentry_sdk.types import Hint

    from holdfast.core.job import Job
    from holdfast.engine.events import Event

ORIGIN: Final = "auto.queue.holdfast"
_TRACE, _BAGGAGE = "sentry-trace", "sentry-baggage"
"""The entries of the carrier. `baggage` alone may belong to another plugin."""

_STATE: Final = "_holdfast_sentry"
"""An entry in `vars(exception)`: "sent" if an event contains it, "left" if it has left a handler."""

_sending: ContextVar[bool] = ContextVar("holdfast_sentry_sending", default=False)
_MAX_SCOPES = 10_000


class Sentry(Plugin):
    """Reports permanent failures and traces jobs: ``Jobs(plugins=[Sentry()])``, after `sentry_sdk.init(...)`.

    `final_failures_only=False` also reports attempts that failed and will be retried.
    """

    def __init__(self, *, final_failures_only: bool = True) -> None:
        self._reported = frozenset({"failed"} if final_failures_only else {"failed", "retrying"})
        self._scopes: dict[tuple[str, int], Scope] = {}
        """The scopes of attempts that raised, until their settlement is known: the event has their breadcrumbs."""
        _process_events_once()

    # Starts

    @contextmanager
    def starting(self, jobs: Sequence[StartingJob], /) -> Generator[None]:
        name = jobs[0].type if len({job.type for job in jobs}) == 1 else "holdfast"
        with sentry_sdk.start_span(op="queue.publish", name=name, origin=ORIGIN) as span:
            span.set_data("messaging.system", "holdfast")
            span.set_data("messaging.destination.name", name)
            if len(jobs) == 1:
                span.set_data("messaging.message.id", jobs[0].job_id)
            trace, baggage = sentry_sdk.get_traceparent(), sentry_sdk.get_baggage()
            for job in jobs:
                _put(job, _TRACE, trace)
                _put(job, _BAGGAGE, baggage)
            yield

    # Attempts

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        job: Job = attempt.job
        with sentry_sdk.isolation_scope() as scope:
            scope.clear_breadcrumbs()
            _describe(scope, job.id, job.chain_id, job.type, job.attempt)
            headers = {"sentry-trace": job.carrier.get(_TRACE, ""), "baggage": job.carrier.get(_BAGGAGE, "")}
            transaction = sentry_sdk.continue_trace(
                {name: value for name, value in headers.items() if value}, op="queue.process", name=job.type,
                source="task", origin=ORIGIN,
            )  # fmt: skip
            decision: BaseException
            with sentry_sdk.start_transaction(transaction):
                try:
                    return await self._process(job, scope, call_next)
                except BaseException as raised:
                    if not isinstance(raised, Reschedule | Cancel) and not is_suspension(raised):
                        raise
                    decision = raised  # of the handler: the transaction is no error
            raise decision

    async def _process(self, job: Job, scope: Scope, call_next: Callable[[], Awaitable[Any]]) -> Any:
        with sentry_sdk.start_span(op="queue.process", name=job.type, origin=ORIGIN) as span:
            span.set_data("messaging.system", "holdfast")
            span.set_data("messaging.destination.name", job.type)
            span.set_data("messaging.message.id", job.id)
            span.set_data("messaging.message.body.size", len(job.record.input))
            span.set_data("messaging.message.retry.count", job.attempt - 1)
            if job.started_at is not None and job.scheduled_at is not None:
                waited = (job.started_at - job.scheduled_at).total_seconds() * 1000
                span.set_data("messaging.message.receive.latency", max(waited, 0.0))
            try:
                return await call_next()
            except (Reschedule, Cancel):
                raise
            except BaseException as error:
                if is_suspension(error):  # a decision of the handler too
                    raise
                vars(error).setdefault(_STATE, "left")
                if len(self._scopes) >= _MAX_SCOPES:
                    self._scopes.clear()
                self._scopes[job.id, job.attempt] = scope
                raise

    # Failures

    def wants(self, kind: str, /) -> bool:
        return kind in ("failed", "retrying", "lost", "released", "cancelled")

    def observe(self, event: Event, /) -> None:
        scope = self._scopes.pop((event.job_id or "", event.attempt or 0), None)
        if event.kind not in self._reported:
            return
        cause = event.cause
        if cause is not None and vars(cause).get(_STATE) == "sent":
            return  # the application has reported it
        with use_isolation_scope(scope or Scope()), sentry_sdk.new_scope() as current:
            _describe(current, event.job_id, event.chain_id, event.type, event.attempt)
            token = _sending.set(True)
            # The log record of this failure has the same exception: it was dropped, and must not make this a duplicate.
            DedupeIntegration.reset_last_seen()
            try:
                if cause is not None:
                    sentry_sdk.capture_exception((type(cause), cause, from_handler(cause.__traceback__)))
                else:
                    current.fingerprint = ["holdfast", str(event.type), event.error.type if event.error else ""]
                    sentry_sdk.capture_message(f"{event.type} failed: {event.error}", level="error")
            finally:
                _sending.reset(token)


def _put(job: StartingJob, name: str, value: str | None) -> None:
    job.inherited.pop(name, None)
    if value:
        job.carrier[name] = value


def _describe(scope: Scope, job_id: str | None, chain_id: str | None, type: str | None, attempt: int | None) -> None:
    scope.set_transaction_name(type or "holdfast", source="task")
    for name, value in {"job_id": job_id, "chain_id": chain_id, "job_type": type, "attempt": attempt}.items():
        if value is not None:
            scope.set_tag(name, str(value))


_processes_events = False


def _process_events_once() -> None:
    global _processes_events
    if not _processes_events:
        _processes_events = True
        add_global_event_processor(_drop_repeated)


def _drop_repeated(event: SentryEvent, hint: Hint) -> SentryEvent | None:
    """Drop the events that other integrations make of a failed attempt, such as that of its line in the log."""
    if _sending.get():
        return event
    known: dict[str, Any] = dict(hint)
    record = known.get("log_record")
    if getattr(record, "holdfast_event", None) in ("failed", "retrying"):
        return None
    error: BaseException | None = (known.get("exc_info") or (None, None, None))[1]
    if error is None:
        return event
    if vars(error).get(_STATE) == "left":
        return None
    vars(error)[_STATE] = "sent"
    return event
