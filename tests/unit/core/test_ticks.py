"""What due ticks mean: the policies for overlapping and missed ticks."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from holdfast.core.clock import SECOND, Micros, to_micros
from holdfast.core.lifecycle import NewJob
from holdfast.core.schedule import (
    Missed,
    Overlap,
    Rule,
    ScheduleDeclaration,
    ScheduleRecord,
    TickCounts,
    new_record,
    tick_id,
)
from holdfast.core.ticks import MAX_STARTS, HandledTicks, handle_ticks

START = to_micros(datetime(2026, 1, 1, tzinfo=UTC))
HOUR = 3600 * SECOND


def _record(
    *, every: Micros = HOUR, overlap: Overlap = "skip", missed: Missed = "latest", within: Micros = 24 * HOUR
) -> ScheduleRecord:
    job = NewJob("", "report", "", b"{}")
    return new_record(ScheduleDeclaration("hourly", Rule(every=every), job, overlap, missed, within), START)


def _ids(*hours: int) -> list[str]:
    return [tick_id("hourly", START + hour * HOUR) for hour in hours]


def _started(step: HandledTicks) -> list[str]:
    return [job.id for job in step.starts]


def test_a_tick_on_time_starts_its_chain() -> None:
    step = handle_ticks(_record(), START + HOUR, {})

    assert _started(step) == ["schedule:hourly:2026-01-01T01:00:00Z"]
    assert (step.record.next_at, step.record.last_tick) == (START + 2 * HOUR, START + HOUR)
    assert (step.record.last_chain, step.record.counts) == (_ids(1)[0], TickCounts(1, 0, 0))


def test_nothing_happens_before_the_tick() -> None:
    step = handle_ticks(_record(), START + HOUR - 1, {})

    assert (step.starts, step.record) == ([], _record())


@pytest.mark.parametrize("missed", ["latest", "all", "none"])
def test_a_tick_up_to_sixty_seconds_late_is_on_time(missed: Missed) -> None:
    step = handle_ticks(_record(missed=missed, within=0), START + HOUR + 60 * SECOND, {})

    assert (_started(step), step.record.counts) == (_ids(1), TickCounts(1, 0, 0))


def test_without_making_up_a_late_tick_is_missed() -> None:
    step = handle_ticks(_record(missed="none"), START + HOUR + 61 * SECOND, {})

    assert (step.starts, step.record.counts, step.record.next_at) == ([], TickCounts(0, 0, 1), START + 2 * HOUR)


def test_the_latest_missed_tick_is_made_up_for() -> None:
    step = handle_ticks(_record(missed="latest"), START + 5 * HOUR + HOUR // 2, {})

    assert (_started(step), step.record.counts) == (_ids(5), TickCounts(1, 0, 4))
    assert step.record.next_at == START + 6 * HOUR


def test_a_tick_on_time_stands_for_the_missed_ones_before_it() -> None:
    step = handle_ticks(_record(missed="latest"), START + 3 * HOUR, {})

    assert (_started(step), step.record.counts) == (_ids(3), TickCounts(1, 0, 2))


def test_the_latest_tick_is_missed_if_it_is_too_old() -> None:
    step = handle_ticks(_record(missed="latest", within=HOUR // 2), START + HOUR + HOUR // 2 + 1, {})

    assert (step.starts, step.record.counts) == ([], TickCounts(0, 0, 1))


def test_all_missed_ticks_that_are_not_too_old_are_made_up_for() -> None:
    step = handle_ticks(_record(missed="all", overlap="allow", within=2 * HOUR), START + 5 * HOUR + HOUR // 2, {})

    assert (_started(step), step.record.counts) == (_ids(4, 5), TickCounts(2, 0, 3))
    assert [job.after for job in step.starts] == [(), ()]


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_ticks_that_are_made_up_for_wait_for_each_other(overlap: Overlap) -> None:
    step = handle_ticks(_record(missed="all", overlap=overlap), START + 3 * HOUR + HOUR // 2, {"before": True})

    assert _started(step) == _ids(1, 2, 3)
    assert [job.after for job in step.starts] == [("before",), (_ids(1)[0],), (_ids(2)[0],)]
    assert step.record.counts == TickCounts(3, 0, 0)


def test_after_a_long_downtime_ticks_are_handled_in_several_steps() -> None:
    record = _record(every=SECOND, missed="none")
    now, steps = START + 86_400 * SECOND, 0
    while record.next_at <= now:
        step = handle_ticks(record, now, {})
        record, steps = step.record, steps + 1

    assert steps > 10
    assert record.next_at == now + SECOND
    assert sum(record.counts) == 86_400
    assert record.counts.missed == 86_400 - 61


def test_one_step_starts_a_limited_number_of_chains() -> None:
    record = _record(every=SECOND, missed="all", overlap="allow")

    step = handle_ticks(record, START + 1000 * SECOND, {})

    assert len(step.starts) == MAX_STARTS
    assert step.record.next_at == START + (MAX_STARTS + 1) * SECOND


def test_an_unfinished_chain_skips_the_tick() -> None:
    step = handle_ticks(_record(overlap="skip"), START + HOUR, {"before": True})

    assert (step.starts, step.record.counts) == ([], TickCounts(0, 1, 0))
    assert step.record.unfinished == ("before",)


def test_one_tick_waits_for_a_running_chain_and_later_ones_are_skipped() -> None:
    first = handle_ticks(_record(overlap="queue"), START + HOUR, {"running": True})
    second = handle_ticks(first.record, START + 2 * HOUR, {"running": True, _ids(1)[0]: False})
    third = handle_ticks(second.record, START + 3 * HOUR, {_ids(1)[0]: True})

    assert [job.after for job in first.starts] == [("running",)]
    assert (second.starts, second.record.counts) == ([], TickCounts(1, 1, 0))
    assert [(job.id, job.after) for job in third.starts] == [(_ids(3)[0], (_ids(1)[0],))]


def test_chains_may_overlap() -> None:
    step = handle_ticks(_record(overlap="allow"), START + HOUR, {"before": True})

    assert (_started(step), step.starts[0].after, step.cancels) == (_ids(1), (), [])


def test_a_tick_cancels_the_unfinished_chain() -> None:
    step = handle_ticks(_record(overlap="cancel"), START + HOUR, {"before": True})

    assert (_started(step), step.cancels, step.record.unfinished) == (_ids(1), ["before"], tuple(_ids(1)))


def test_a_chain_that_the_next_tick_would_cancel_is_not_started() -> None:
    step = handle_ticks(_record(overlap="cancel", missed="all"), START + 2 * HOUR, {"before": True})

    assert (_started(step), step.cancels) == (_ids(2), ["before"])
    assert step.record.counts == TickCounts(1, 1, 0)


def test_ticks_during_a_pause_are_skipped_however_late() -> None:
    paused = msgspec.structs.replace(_record(missed="all"), paused=True)

    step = handle_ticks(paused, START + 3 * HOUR + HOUR // 2, {})

    assert (step.starts, step.record.counts, step.record.next_at) == ([], TickCounts(0, 3, 0), START + 4 * HOUR)
