"""Records of schedules: grids, ids of ticks, jitter, changed declarations."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import islice

import msgspec
import pytest

from holdfast.core.clock import SECOND, Micros, to_datetime, to_micros
from holdfast.core.lifecycle import NewJob
from holdfast.core.schedule import (
    Rule,
    ScheduleDeclaration,
    ScheduleRecord,
    TickCounts,
    changed_record,
    fire_id,
    first_job,
    new_record,
    read,
    shown,
    tick_id,
    tick_of,
    upcoming,
    write,
)

START = to_micros(datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC))
HOUR = 3600 * SECOND


def _declaration(*, rule: Rule | None = None, jitter: Micros = 0, delay: Micros = 0) -> ScheduleDeclaration:
    job = NewJob("", "report", "", b"\x00\xff{}", priority=3, delay=delay, max_attempts=4)
    return ScheduleDeclaration("nightly", rule or Rule(every=HOUR), job, jitter=jitter)


def test_the_grid_of_every_begins_at_the_creation() -> None:
    record = new_record(_declaration(), START)

    assert record.next_at == START + HOUR
    assert list(islice(record.ticks(START + 2 * HOUR), 2)) == [START + 3 * HOUR, START + 4 * HOUR]
    assert next(record.ticks(START + 2 * HOUR - 1)) == START + 2 * HOUR
    assert next(record.ticks(START - 10 * HOUR)) == START + HOUR


def test_a_record_is_read_as_it_was_written() -> None:
    record = msgspec.structs.replace(
        new_record(_declaration(rule=Rule(cron="@daily", tz="Asia/Tokyo")), START, registry="shop"),
        declared_by={"worker-1": "abc"},
        last_tick=START,
        last_chain="schedule:x",
        paused=True,
        reason="why",
        counts=TickCounts(1, 2, 3),
        unfinished=("a", "b"),
    )

    assert read(write(record)) == record


def test_an_unchanged_rule_keeps_the_next_tick() -> None:
    record = new_record(_declaration(), START)

    changed = changed_record(record, _declaration(jitter=SECOND), START + HOUR // 2)

    assert (changed.next_at, changed.declaration.jitter) == (START + HOUR, SECOND)


def test_a_changed_rule_ticks_next_after_the_change() -> None:
    record = msgspec.structs.replace(new_record(_declaration(), START), counts=TickCounts(7, 0, 0), paused=True)

    changed = changed_record(record, _declaration(rule=Rule(cron="0 0 * * *")), START + 30 * HOUR)

    assert to_datetime(changed.next_at) == datetime(2026, 1, 3, tzinfo=UTC)
    assert (changed.counts, changed.paused) == (TickCounts(7, 0, 0), True)


def test_a_schedule_that_is_no_longer_orphaned_does_not_make_up_for_ticks() -> None:
    record = msgspec.structs.replace(new_record(_declaration(), START), orphaned=True)
    assert record.ticks_at is None

    changed = changed_record(record, _declaration(), START + 30 * HOUR)

    assert (changed.orphaned, changed.ticks_at) == (False, START + 31 * HOUR)


def test_equal_declarations_have_equal_digests() -> None:
    assert _declaration().digest == _declaration().digest
    assert _declaration().digest != _declaration(jitter=1).digest


@pytest.mark.parametrize("name", ["nightly", "a:b", "2026-01-01T00:00:00Z", "fire"])
def test_the_id_of_a_chain_contains_its_tick(name: str) -> None:
    whole = to_micros(datetime(2026, 3, 29, 1, tzinfo=UTC))

    assert tick_id("nightly", whole) == "schedule:nightly:2026-03-29T01:00:00Z"
    assert fire_id("nightly", whole) == "schedule:nightly:fire:2026-03-29T01:00:00.000000Z"
    for tick in (whole, whole + 1):
        assert tick_of(tick_id(name, tick)) == to_datetime(tick)
        assert tick_of(fire_id(name, tick)) == to_datetime(tick)


@pytest.mark.parametrize("chain_id", ["", "order-7", "schedule:", "schedule:x:Z", "schedule:x:2026-99-01T00:00:00Z"])
def test_other_chains_have_no_tick(chain_id: str) -> None:
    assert tick_of(chain_id) is None


def test_jitter_is_the_same_for_each_computation_of_a_tick() -> None:
    declaration = _declaration(jitter=60 * SECOND, delay=SECOND)
    delays = {(first_job(declaration, "id", tick).at or 0) - tick for tick in range(START, START + 200 * HOUR, HOUR)}

    assert first_job(declaration, "id", START) == first_job(declaration, "id", START)
    assert len(delays) > 190
    for tick in range(START, START + 200 * HOUR, HOUR):
        job = first_job(declaration, "id", tick)
        assert job.at is not None
        assert SECOND <= job.at - tick <= 61 * SECOND


def test_the_first_job_has_the_options_of_the_declaration() -> None:
    job = first_job(_declaration(), "schedule:nightly:x", START, after=("before",))

    assert (job.id, job.chain_id, job.after, job.at) == ("schedule:nightly:x", "schedule:nightly:x", ("before",), START)
    assert (job.type, job.input, job.priority, job.max_attempts) == ("report", b"\x00\xff{}", 3, 4)


def test_a_schedule_has_exactly_the_documented_fields() -> None:
    schedule = shown(new_record(_declaration(), START))

    documented = "name type cron every tz next_at last_tick last_chain paused reason overlap missed orphaned counts"
    assert " ".join(field.name for field in fields(schedule)) == documented
    assert (schedule.every, schedule.cron, schedule.counts.started) == (timedelta(hours=1), None, 0)


def test_the_next_ticks_continue_the_rule() -> None:
    record = new_record(_declaration(), START)
    assert upcoming(shown(record), 2) == [to_datetime(START + HOUR), to_datetime(START + 2 * HOUR)]

    daily: ScheduleRecord = new_record(_declaration(rule=Rule(cron="@daily")), START)
    assert upcoming(shown(daily), 2) == [datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)]


def test_neither_record_nor_declaration_show_the_payload() -> None:
    record = new_record(_declaration(), START)

    assert "xff" not in f"{record!r} {record.declaration!r} {record.declaration.job!r}"
