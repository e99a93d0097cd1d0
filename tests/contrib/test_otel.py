"""The OpenTelemetry plugin against the SDK: spans, links, stored contexts and metrics."""

from __future__ import annotations

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind, StatusCode

from holdfast import Attempt, Bound, Chain, Jobs, Retry
from holdfast.contrib.otel import conventions
from holdfast.testing import ManualClock, drain
from tests.contrib.otel_telemetry import Telemetry, client_of
from tests.contrib.otel_telemetry import telemetry as telemetry


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


async def test_a_plain_function_runs_in_the_span_of_its_attempt(telemetry: Telemetry) -> None:
    jobs = Jobs(plugins=[telemetry.plugin])

    @jobs.job
    def charge() -> str:
        return str(trace.get_current_span().get_span_context().span_id)

    async with client_of(jobs) as client:
        chain = await client.start(charge.bind())
        await drain(client)
        assert await client.wait(chain, timeout=60) == str(id_of(telemetry.span("process charge")))
