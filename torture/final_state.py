"""What the store contains after a run: the part of the evidence that is read at the end."""

from __future__ import annotations

from holdfast import SyncClient
from holdfast.core.counters import Counts
from holdfast.core.record import Record
from holdfast.core.steps import StepRow
from holdfast.engine.operations import Filter, GetSteps, ListJobs
from holdfast.engine.store import Store
from torture.audit import Row
from torture.evidence import Facts
from torture.flow_jobs import BEAT
from torture.harnesses import Harness
from torture.jobs import jobs
from torture.step_jobs import TYPES as STEPPED


def collect(harness: Harness, facts: Facts, neighbours: list[str]) -> None:
    """Read the state of the store and of its neighbour after a run."""
    with SyncClient(harness.neighbour, jobs) as client:
        stats = client.stats()
        facts.neighbour = {
            "started": len(neighbours),
            "all": sum(stats.counts.values()),
            "pending": stats.counts["pending"],  # type: ignore[index]
            "ids": neighbours,
        }
    with SyncClient(harness.direct, jobs) as client:
        facts.stats = {str(status): count for status, count in client.stats().counts.items() if count}
        facts.counters = {name: totals(row.total) for name, row in client.counters().types.items()}
        facts.ticks = next((each.counts.started for each in client.schedules() if each.name == BEAT), None)
        facts.rows = [row_of(record) for record in _records(client)]
        facts.steps = steps_of(client.store, facts.rows)
    facts.ledger = harness.ledger()
    facts.step_ledger = harness.step_ledger()
    facts.business = harness.business()


def steps_of(store: Store, rows: list[Row]) -> list[tuple[str, str, str, str | None]]:
    """The completed steps of the jobs with steps."""
    ids = [row.id for row in rows if row.type in STEPPED]
    found: list[tuple[str, str, str, str | None]] = []
    for first in range(0, len(ids), 100):
        some = tuple(ids[first : first + 100])
        stored: list[list[StepRow]] = store.perform_sync(GetSteps(some))
        for job_id, steps in zip(some, stored, strict=True):
            done = (step for step in steps if step.kind == "step" and step.final)
            found += [(job_id, step.name, step.each, (step.result or b"").decode().strip('"')) for step in done]
    return found


def totals(counts: Counts) -> dict[str, int]:
    """The totals of a type, without zeros. The audit does not distinguish retried from rescheduled attempts."""
    named = {name: getattr(counts, name) for name in ("started", "completed", "failed", "reaped", "cancelled")}
    named["repeated"] = counts.retried + counts.rescheduled
    return {name: number for name, number in named.items() if number}


def _records(client: SyncClient) -> list[Record]:
    records: list[Record] = []
    while page := client.store.perform_sync(ListJobs(Filter(), 1000, records[-1].seq if records else None)):
        records += page
    return records


def row_of(record: Record) -> Row:
    """Convert a record to a row of the evidence."""
    output = record.output
    return Row(
        id=record.id, chain=record.chain_id, index=record.index, type=record.type, status=str(record.status),
        attempt=record.attempt, token=record.token, worker=record.worker, key=record.key,
        output=None if output is None else output[:200].decode(errors="replace").strip('"'),
        error_bytes=len(record.error or b""),
        error=None if record.error is None else record.error[:200].decode(errors="replace"),
        open_blockers=record.open_blockers, on_blocker_failure=record.on_blocker_failure,
        scheduled_at=record.scheduled_at,
    )  # fmt: skip
