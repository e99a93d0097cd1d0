"""The OpenTelemetry plugin against the SDK: spans, links, stored contexts and metrics."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind, StatusCode

from holdfast import Attempt, Bound, Chain, Client, Fail, Jobs, Reschedule, Retry, SyncClient, Worker
from holdfast.contrib.otel import OpenTelemetry, conventions
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain


class Telemetry:
    """Providers that keep everything in memory, and the plugin that uses them."""

    def __init__(self, **options: Any) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self._traces = TracerProvider()
        self._traces.add_span_processor(SimpleSpanProcessor(self._spans))
        self._meters = MeterProvider([self._metrics])
        self.tracer = self._traces.get_tracer("test")
        self.plugin = OpenTelemetry(tracer_provider=self._traces, meter_provider=self._meters, **options)

    def spans(self, name: str | None = None) -> list[ReadableSpan]:
        return [span for span in self._spans.get_finished_spans() if name is None or span.name == name]

    def span(self, name: str) -> ReadableSpan:
        (span,) = self.spans(name)
        return span

    def points(self, name: str) -> list[Any]:
        data = self._metrics.get_metrics_data()
        resources: list[Any] = [] if data is None else list(data.resource_metrics)
        metrics: list[Any] = [metric for each in resources for scope in each.scope_metrics for metric in scope.metrics]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]

    def total(self, name: str, **about: str) -> float:
        wanted = {key.replace("__", "."): value for key, value in about.items()}
        found = [point for point in self.points(name) if wanted.items() <= dict(point.attributes).items()]
        return float(sum(point.value if hasattr(point, "value") else point.count for point in found))

    def shutdown(self) -> None:
        self._traces.shutdown()
        self._meters.shutdown()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.shutdown()


@asynccontextmanager
async def client_of(jobs: Jobs, *, clock: ManualClock | None = None) -> AsyncGenerator[Client]:
    async with Client(MemoryStore(clock=clock), jobs) as client:
        yield client


def links_of(span: ReadableSpan) -> set[int]:
    return {link.context.span_id for link in span.links}


def id_of(span: ReadableSpan) -> int:
    context: trace.SpanContext | None = span.context
    assert context is not None
    return context.span_id


def test_the_names_are_those_of_the_published_constants() -> None:
    assert Schemas.V1_44_0.value == conventions.SCHEMA_URL
    assert conventions.SYSTEM == messaging_attributes.MESSAGING_SYSTEM
    assert conventions.OPERATION_NAME == messaging_attributes.MESSAGING_OPERATION_NAME
    assert conventions.OPERATION_TYPE == messaging_attributes.MESSAGING_OPERATION_TYPE
    assert conventions.DESTINATION == messaging_attributes.MESSAGING_DESTINATION_NAME
    assert conventions.MESSAGE_ID == messaging_attributes.MESSAGING_MESSAGE_ID
    assert conventions.CONVERSATION_ID == messaging_attributes.MESSAGING_MESSAGE_CONVERSATION_ID
    assert conventions.BATCH_COUNT == messaging_attributes.MESSAGING_BATCH_MESSAGE_COUNT
    assert conventions.CLIENT_ID == messaging_attributes.MESSAGING_CLIENT_ID
    assert conventions.ERROR_TYPE == error_attributes.ERROR_TYPE
    assert conventions.SENT_MESSAGES == messaging_metrics.MESSAGING_CLIENT_SENT_MESSAGES
    assert conventions.CONSUMED_MESSAGES == messaging_metrics.MESSAGING_CLIENT_CONSUMED_MESSAGES
    assert conventions.OPERATION_DURATION == messaging_metrics.MESSAGING_CLIENT_OPERATION_DURATION
    assert conventions.PROCESS_DURATION == messaging_metrics.MESSAGING_PROCESS_DURATION
    operations = {each.value for each in messaging_attributes.MessagingOperationTypeValues}
    assert {"create", "send", "process"} <= operations


async def test_a_first_attempt_belongs_to_the_trace_of_its_start(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])
    current: list[int] = []

    @jobs.job
    async def charge(order: int) -> int:
        current.append(trace.get_current_span().get_span_context().span_id)
        return order

    async with client_of(jobs) as client:
        with telemetry.tracer.start_as_current_span("request") as request:
            chain = await client.start(charge.bind(order=7))
        await drain(client)
    send, process = telemetry.span("send charge"), telemetry.span("process charge")
    assert send.kind is SpanKind.PRODUCER
    assert process.kind is SpanKind.CONSUMER
    assert send.parent is not None
    assert send.parent.span_id == request.get_span_context().span_id
    assert process.parent is not None
    assert process.parent.span_id == id_of(send)
    assert current == [id_of(process)]
    assert process.status.status_code is StatusCode.UNSET
    for span, operation in ((send, "send"), (process, "process")):
        assert (
            dict(span.attributes or {}).items()
            >= {
                "messaging.system": "holdfast",
                "messaging.operation.name": operation,
                "messaging.operation.type": operation,
                "messaging.destination.name": "charge",
                "messaging.message.id": chain.id,
                "messaging.message.conversation_id": chain.id,
            }.items()
        )
    assert process.instrumentation_scope is not None
    assert process.instrumentation_scope.schema_url == conventions.SCHEMA_URL


async def test_a_later_attempt_is_a_new_trace_with_a_link(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job(retry=Retry(initial=0.001, max_attempts=2))
    async def charge(attempt: Attempt) -> None:
        if attempt.job.attempt == 1:
            raise ConnectionError("no answer")

    async with client_of(jobs, clock=ManualClock()) as client:
        await client.start(charge.bind())
        await drain(client, advance=True)
    send = telemetry.span("send charge")
    first, second = telemetry.spans("process charge")
    assert first.parent is not None
    assert first.parent.span_id == id_of(send)
    assert first.status.status_code is StatusCode.ERROR
    assert dict(first.attributes or {})["error.type"] == "ConnectionError"
    assert [event.name for event in first.events] == ["exception"]
    assert second.parent is None
    assert links_of(second) == {id_of(send)}
    assert dict(second.attributes or {})["holdfast.attempt"] == 2
    assert "error.type" not in dict(second.attributes or {})


@pytest.mark.parametrize(("delay", "child"), [(60, True), (61, False)])
async def test_a_first_attempt_long_after_its_start_is_a_new_trace(
    telemetry: Telemetry, delay: int, child: bool
) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def remind() -> None: ...

    async with client_of(jobs, clock=ManualClock()) as client:
        await client.start(remind.bind(), delay=delay)
        await drain(client, advance=True)
    process = telemetry.span("process remind")
    assert (process.parent is not None) is child
    assert links_of(process) == (set() if child else {id_of(telemetry.span("send remind"))})


async def test_a_continuation_links_to_the_attempt_before_it(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def ship(order: int) -> int:
        return order

    @jobs.job
    async def charge(order: int) -> Bound[int]:
        return ship.bind(order=order)

    async with client_of(jobs) as client:
        await client.start(charge.bind(order=7))
        await drain(client)
    process = telemetry.span("process ship")
    assert process.parent is None
    assert links_of(process) == {id_of(telemetry.span("process charge"))}
    assert telemetry.total(conventions.SENT_MESSAGES, messaging__destination__name="ship") == 1


async def test_every_blocker_is_a_link(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def extract(part: int) -> int:
        return part

    @jobs.job
    async def load() -> None: ...

    async with client_of(jobs) as client:
        parts: list[Chain[int]] = [await client.start(extract.bind(part=part)) for part in range(2)]
        await client.start(load.bind(), after=parts)
        await drain(client)
    process = telemetry.span("process load")
    assert links_of(process) == {id_of(span) for span in telemetry.spans("send extract")}
    assert process.parent is not None
    assert process.parent.span_id == id_of(telemetry.span("send load"))


async def test_a_batch_has_one_span_and_one_per_job(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def index(page: int) -> None: ...

    async with client_of(jobs) as client:
        await client.start_many([index.bind(page=page) for page in range(3)])
        await drain(client)
    created, send = telemetry.spans("create index"), telemetry.span("send")
    assert [span.kind for span in created] == [SpanKind.PRODUCER] * 3
    assert send.kind is SpanKind.CLIENT
    assert links_of(send) == {id_of(span) for span in created}
    assert dict(send.attributes or {})["messaging.batch.message_count"] == 3
    parents = {span.parent.span_id for span in telemetry.spans("process index") if span.parent is not None}
    assert parents == {id_of(span) for span in created}
    assert telemetry.total(conventions.SENT_MESSAGES, messaging__destination__name="index") == 3


async def test_a_side_chain_is_a_child_of_the_attempt_that_starts_it(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def notify() -> None: ...

    @jobs.job
    async def charge(attempt: Attempt) -> None:
        async with attempt.complete() as done:
            await done.start(notify.bind())
            done.output(None)

    async with client_of(jobs) as client:
        await client.start(charge.bind())
        await drain(client)
    send = telemetry.span("send notify")
    assert send.parent is not None
    assert send.parent.span_id == id_of(telemetry.span("process charge"))
    process = telemetry.span("process notify")
    assert process.parent is not None
    assert process.parent.span_id == id_of(send)


async def test_the_state_of_the_trace_is_not_inherited_from_another_context(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def charge() -> None: ...

    context = trace.SpanContext(
        1, 2, is_remote=True, trace_flags=trace.TraceFlags(1), trace_state=trace.TraceState([("vendor", "a")])
    )
    async with client_of(jobs) as client:
        with trace.use_span(trace.NonRecordingSpan(context)):
            chain = await client.start(charge.bind())
    assert chain.job.carrier.keys() == {"traceparent", "tracestate"}
    assert chain.job.carrier["tracestate"] == "vendor=a"
    assert "baggage" not in chain.job.carrier


async def test_baggage_reaches_the_handler_if_it_is_wanted() -> None:
    telemetry = Telemetry(baggage=True)
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def charge() -> str:
        return str(baggage.get_baggage("tenant"))

    async with client_of(jobs) as client:
        token = attach(baggage.set_baggage("tenant", "acme"))
        chain = await client.start(charge.bind())
        detach(token)
        await drain(client)
        assert await client.wait(chain) == "acme"
    telemetry.shutdown()


async def test_decisions_of_a_handler_are_no_errors(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def poll(attempt: Attempt) -> None:
        if attempt.job.attempt == 1:
            raise Reschedule(1)
        raise Fail("gone")

    async with client_of(jobs, clock=ManualClock()) as client:
        await client.start(poll.bind())
        await drain(client, advance=True)
    first, second = telemetry.spans("process poll")
    assert first.status.status_code is StatusCode.UNSET
    assert dict(first.attributes or {})["holdfast.outcome"] == "reschedule"
    assert second.status.status_code is StatusCode.ERROR
    assert telemetry.total(conventions.CONSUMED_MESSAGES, messaging__destination__name="poll") == 2
    assert telemetry.total(conventions.CONSUMED_MESSAGES, error__type="Fail") == 1


async def test_each_step_that_runs_is_a_span_and_a_suspension_is_no_error(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    def charge(order: int) -> int:
        if order > 7:
            raise ValueError("no such order")
        return order

    @jobs.job
    async def fulfil(attempt: Attempt) -> None:
        await attempt.step("charge", charge, 7)
        await attempt.sleep("nap", 60)
        with pytest.raises(ValueError, match="no such order"):
            await attempt.step("charge", charge, 8, each=8)

    async with client_of(jobs, clock=ManualClock()) as client:
        await client.start(fulfil.bind())
        await drain(client, advance=True)
    first, second = telemetry.spans("process fulfil")
    assert first.status.status_code is StatusCode.UNSET
    assert dict(first.attributes or {})["holdfast.outcome"] == "suspended"
    done, failed = telemetry.spans("step charge")
    assert [span.parent.span_id for span in (done, failed) if span.parent] == [
        span.context.span_id for span in (first, second) if span.context
    ]
    assert done.status.status_code is StatusCode.UNSET
    assert failed.status.status_code is StatusCode.ERROR
    assert dict(failed.attributes or {})["holdfast.step.each"] == "8"


async def test_a_start_that_fails_is_an_error_of_its_span(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def charge() -> None: ...

    async with client_of(jobs) as client:
        with pytest.raises(Exception, match="missing"):
            await client.start(charge.bind(), after=["missing"])
    send = telemetry.span("send charge")
    assert send.status.status_code is StatusCode.ERROR
    assert telemetry.total(conventions.OPERATION_DURATION, error__type="ChainNotFound") == 1
    assert telemetry.total(conventions.SENT_MESSAGES) == 0


def test_a_message_of_a_rolled_back_transaction_is_not_counted(telemetry: Telemetry, tmp_path: Path) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    def charge() -> None: ...

    path = tmp_path / "jobs.db"
    with SyncClient(f"sqlite:///{path}", jobs) as client:
        connection = sqlite3.connect(path, isolation_level=None)
        for end in ("rollback", "commit", "commit"):
            connection.execute("begin immediate")
            chain = client.start(charge.bind(), tx=connection)
            assert "traceparent" in chain.job.carrier
            connection.execute(end)
        connection.close()
        client.stats()  # the events of the transactions are delivered with the next call
    assert len(telemetry.spans("send charge")) == 3
    assert telemetry.total(conventions.SENT_MESSAGES, messaging__destination__name="charge") == 2


async def test_a_found_chain_is_not_counted(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    async def charge() -> None: ...

    async with client_of(jobs) as client:
        first = await client.start(charge.bind(), key="order-7")
        await client.start(charge.bind(), key="order-7")
    _, found = telemetry.spans("send charge")
    assert (
        dict(found.attributes or {}).items()
        >= {"holdfast.deduplicated": True, "messaging.message.id": first.id}.items()
    )
    assert telemetry.total(conventions.SENT_MESSAGES) == 1


async def test_a_worker_reports_waiting_times_and_the_backlog(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])
    other = Jobs()

    @jobs.job
    async def charge() -> None: ...

    @other.job
    async def export() -> None: ...

    async with client_of(jobs) as client:
        await client.start_many([export.bind(), export.bind()])
        async with Worker(client):
            await client.run(charge.bind(), timeout=60)
            backlog = {
                (point.attributes["messaging.destination.name"], point.attributes["holdfast.status"]): point.value
                for point in telemetry.points(conventions.BACKLOG)
            }
        assert backlog["export", "due"] == 2
        assert backlog["export", "pending"] == 2
        assert telemetry.total(conventions.WAIT_DURATION, messaging__destination__name="charge") == 1
        assert telemetry.total(conventions.PROCESS_DURATION, messaging__destination__name="charge") == 1
        assert telemetry.points(conventions.BACKLOG) == []


async def test_a_plain_function_runs_in_the_span_of_its_attempt(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    def charge() -> str:
        return str(trace.get_current_span().get_span_context().span_id)

    async with client_of(jobs) as client:
        chain = await client.start(charge.bind())
        await drain(client)
        assert await client.wait(chain, timeout=60) == str(id_of(telemetry.span("process charge")))
