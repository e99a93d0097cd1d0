"""The plugin: spans around starts and attempts, and the metrics of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, detach
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from holdfast.contrib.otel import conventions as names
from holdfast.contrib.otel.instruments import Instruments, attributes
from holdfast.core.job import Job
from holdfast.core.lifecycle import Cancel, Reschedule
from holdfast.registry.plugin import Plugin, StartingJob
from holdfast.worker.steps.suspended import is_suspension

if TYPE_CHECKING:
    from holdfast.engine.events import Event
    from holdfast.worker.worker import Worker

SHORTLY = timedelta(seconds=60)
"""A first attempt that begins within this time after the start is a child of the start's span."""


class OpenTelemetry(Plugin):
    """Spans and metrics of the starts and attempts of a registry.

    `baggage=True` stores the caller's baggage with each job and restores it for the handler. `backlog=False` omits
    the metrics that a worker reads from the store.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        baggage: bool = False,
        backlog: bool = True,
    ) -> None:
        self._tracer = trace.get_tracer("holdfast", tracer_provider=tracer_provider, schema_url=names.SCHEMA_URL)
        self._instruments = Instruments(
            metrics.get_meter("holdfast", meter_provider=meter_provider, schema_url=names.SCHEMA_URL)
        )
        formats: list[TextMapPropagator] = [TraceContextTextMapPropagator()]
        if baggage:
            formats.append(W3CBaggagePropagator())
        self._propagator = CompositePropagator(formats)
        self._backlog = backlog

    # Starts

    @contextmanager
    def starting(self, jobs: Sequence[StartingJob], /) -> Generator[None]:
        """A span for the start of one job. For several jobs, a span per job and one for the call."""
        if all(job.index > 0 for job in jobs):
            # A continuation is created later, with the settlement. It links to the attempt that returns it.
            for job in jobs:
                self._send_along(job, None)
                self._instruments.expect_continuation(job)
            yield
        elif len(jobs) == 1:
            with self._send(f"send {jobs[0].type}", SpanKind.PRODUCER, _about(jobs[0], "send")) as span:
                self._send_along(jobs[0], span)
                yield
                if jobs[0].deduplicated:
                    span.set_attributes({names.DEDUPLICATED: True, **_ids(jobs[0])})
        else:
            with self._start_many(jobs):
                yield

    @contextmanager
    def _start_many(self, jobs: Sequence[StartingJob]) -> Generator[None]:
        created: list[Span] = []
        for job in jobs:
            span = self._tracer.start_span(
                f"create {job.type}", kind=SpanKind.PRODUCER, attributes=_about(job, "create")
            )
            self._send_along(job, span)
            created.append(span)
        # Ended before the call: a create span measures only the creation of the message.
        for span in created:
            span.end()
        about = attributes("send", _one_type(jobs), {names.BATCH_COUNT: len(jobs)})
        links = [Link(span.get_span_context()) for span in created]
        with self._send("send", SpanKind.CLIENT, about, links):
            yield

    @contextmanager
    def _send(self, name: str, kind: SpanKind, about: Mapping[str, Any], links: Sequence[Link] = ()) -> Generator[Span]:
        begun = perf_counter()
        error: BaseException | None = None
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=about, links=links, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as raised:
                error = raised
                _record_error(span, raised)
                raise
            finally:
                self._instruments.sent_after(perf_counter() - begun, about, error)

    def _send_along(self, job: StartingJob, span: Span | None) -> None:
        """Store the context of the span with the job; without a span, the current context."""
        for field in self._propagator.fields:
            job.inherited.pop(field, None)
        context = None if span is None else trace.set_span_in_context(span)
        self._propagator.inject(job.carrier, context)

    # Attempts

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        """A span for the attempt. It is the current span of the handler."""
        job: Job = attempt.job
        context, links = self._parent(job, attempt.blocker_chains)
        about = {
            **attributes("process", job.type),
            names.MESSAGE_ID: job.id,
            names.CONVERSATION_ID: job.chain_id,
            names.ATTEMPT: job.attempt,
        }
        if job.worker is not None:
            about[names.CLIENT_ID] = job.worker
        begun = perf_counter()
        error: BaseException | None = None
        with _attached(context), self._tracer.start_as_current_span(
            f"process {job.type}", kind=SpanKind.CONSUMER, attributes=about, links=links,
            record_exception=False, set_status_on_exception=False,
        ) as span:  # fmt: skip
            attempt.wrap_steps(self._step)
            try:
                return await call_next()
            except (Reschedule, Cancel) as raised:  # a decision of the handler, and no error
                span.set_attribute(names.OUTCOME, type(raised).__name__.lower())
                raise
            except BaseException as raised:
                if is_suspension(raised):
                    span.set_attribute(names.OUTCOME, "suspended")
                    raise
                error = raised
                _record_error(span, raised)
                raise
            finally:
                self._instruments.processed(job, perf_counter() - begun, error)

    @contextmanager
    def _step(self, name: str, each: str) -> Generator[None]:
        """A span for a durable step that runs. A stored result has none."""
        about = {names.STEP: name} | ({names.STEP_EACH: each} if each else {})
        with self._tracer.start_as_current_span(
            f"step {name}", attributes=about, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as raised:
                _record_error(span, raised)
                raise

    def _parent(self, job: Job, blockers: Iterable[Any]) -> tuple[Context, list[Link]]:
        """The context of the new span, and its links.

        The first attempt shortly after the start belongs to the trace of the start. Later attempts and continuations
        begin a trace: a trace that grows for days is cut by samplers and hard to read.
        """
        sent = self._propagator.extract(job.carrier, Context())
        links = [link for chain in blockers for link in self._link(chain.job.carrier)]
        if _is_child(job):
            return sent, links
        return trace.set_span_in_context(trace.INVALID_SPAN, sent), [*self._link(job.carrier), *links]

    def _link(self, carrier: Mapping[str, str]) -> list[Link]:
        context = trace.get_current_span(self._propagator.extract(carrier, Context())).get_span_context()
        return [Link(context)] if context.is_valid else []

    # Metrics

    def observe(self, event: Event, /) -> None:
        """Count the jobs that were created. Events arrive after the commit, so a rolled-back start is not counted."""
        self._instruments.observe(event)

    def wants(self, kind: str, /) -> bool:
        """The kinds of events that the metrics need."""
        return self._instruments.wants(kind)

    @asynccontextmanager
    async def lifespan(self, worker: Worker, /) -> AsyncGenerator[None]:
        """Report the backlog while a worker runs."""
        if not self._backlog:
            yield
            return
        with self._instruments.backlog_of(worker):
            yield


@contextmanager
def _attached(context: Context) -> Generator[None]:
    """Make a context current. It contains the baggage, which the span alone does not."""
    token = attach(context)
    try:
        yield
    finally:
        detach(token)


def _is_child(job: Job) -> bool:
    begun = job.started_at or job.created_at
    return job.attempt == 1 and job.index == 0 and begun - job.created_at <= SHORTLY


def _about(job: StartingJob, operation: str) -> dict[str, Any]:
    return {**attributes(operation, job.type), **_ids(job)}


def _ids(job: StartingJob) -> dict[str, Any]:
    return {names.MESSAGE_ID: job.job_id, names.CONVERSATION_ID: job.chain_id}


def _one_type(jobs: Sequence[StartingJob]) -> str | None:
    types = {job.type for job in jobs}
    return types.pop() if len(types) == 1 else None


def _record_error(span: Span, error: BaseException) -> None:
    span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
    span.record_exception(error)
    # Without the text of the exception, which record_exception has stored: a description is shown in lists.
    span.set_status(Status(StatusCode.ERROR, type(error).__qualname__))
