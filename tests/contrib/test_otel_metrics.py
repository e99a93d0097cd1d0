"""Which messages the OpenTelemetry plugin counts, and what its spans report as errors."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from opentelemetry.trace import StatusCode

from holdfast import Attempt, Fail, Jobs, Reschedule, SyncClient, Worker
from holdfast.contrib.otel import conventions
from holdfast.testing import ManualClock, drain
from tests.contrib.otel_telemetry import Telemetry, client_of
from tests.contrib.otel_telemetry import telemetry as telemetry


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
