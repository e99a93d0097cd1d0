"""Counters: buckets, percentiles, and the copies of their constants in SQL and Lua."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from holdfast.core.counters import (
    BOUNDS,
    KINDS,
    LETTERS,
    MINUTE,
    TOTAL,
    Appending,
    CounterChange,
    Counts,
    Histogram,
    add_up,
    combined,
    first_minute,
    letter,
)


def _of(*durations: int) -> Histogram:
    counts = [0] * len(LETTERS)
    for each in durations:
        counts[LETTERS.index(letter(each))] += 1
    return Histogram(tuple(counts), sum(durations))


def test_a_bucket_includes_its_bound() -> None:
    assert letter(0) == letter(BOUNDS[0]) == "a"
    assert letter(BOUNDS[0] + 1) == "b"
    assert letter(BOUNDS[-1]) == LETTERS[-2]
    assert letter(BOUNDS[-1] + 1) == LETTERS[-1]


def test_a_histogram_without_durations_has_no_percentiles() -> None:
    assert (Histogram().count, Histogram().mean, Histogram().percentile(50)) == (0, None, None)


def test_a_percentile_lies_in_the_bucket_of_that_duration() -> None:
    histogram = _of(*[2_000] * 50, *[200_000] * 45, *[4_000_000] * 5)

    assert histogram.mean == pytest.approx(0.291)
    assert histogram.percentile(50) == pytest.approx(0.005)
    assert 0.1 < (histogram.percentile(90) or 0) <= 0.25
    assert 2.5 < (histogram.percentile(99) or 0) <= 5


def test_a_duration_above_the_last_bound_counts_as_the_bound() -> None:
    assert _of(10 * BOUNDS[-1]).percentile(99) == BOUNDS[-1] / 1_000_000


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percentile_outside_of_0_to_100_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        Histogram().percentile(percent)


def test_changes_are_added_to_their_minute_and_to_the_total() -> None:
    changes = [
        CounterChange("resize", 5, "completed", 2, "ab", "aa", 30, 20),
        CounterChange("resize", 6, "failed", 1),
        CounterChange("ship", 5, "started", 3),
    ]

    counts = add_up(changes, {("resize", TOTAL): Counts(started=9, waits=_of(1))})

    assert counts["resize", 5].completed == 2
    assert counts["resize", 5].waits.counts[:3] == (1, 1, 0)
    assert (counts["resize", TOTAL].started, counts["resize", TOTAL].failed) == (9, 1)
    assert (counts["resize", TOTAL].waits.count, counts["resize", TOTAL].waits.total) == (3, 31)
    assert counts["ship", TOTAL].started == 3


def test_the_sum_of_counts_contains_all_kinds() -> None:
    one = Counts(1, 2, 3, 4, 5, 6, 7, _of(1, 2), _of(3))

    both = combined([one, one])

    assert [getattr(both, kind) for kind in KINDS] == [2, 4, 6, 8, 10, 12, 14]
    assert (both.waits.total, both.runs.count) == (6, 2)


def test_changes_of_one_operation_become_one_row_per_type_and_kind() -> None:
    appending = Appending()
    for wait in ("a", "b"):
        appending.add(CounterChange("resize", 5, "completed", 1, wait, "a", 10, 1))
    appending.add(CounterChange("resize", 5, "failed", 1, fingerprint="x", example="1"))
    appending.add(CounterChange("resize", 5, "failed", 1, fingerprint="y", example="2"))

    rows = list(appending.take())

    assert rows[0] == CounterChange("resize", 5, "completed", 2, "ab", "aa", 20, 2)
    assert [row.fingerprint for row in rows] == [None, "x", "y"]
    assert not appending


def test_a_reading_begins_with_the_minute_that_was_asked_for() -> None:
    now = 10_000 * MINUTE + 5

    assert first_minute(now, since=None, last=None) == 10_000 - 1439
    assert first_minute(now, since=now - 3 * MINUTE, last=None) == 9_997
    assert first_minute(now, since=0, last=None) == 10_000 - 1439
    assert first_minute(now, since=None, last=MINUTE) == 10_000


def test_the_bounds_of_postgresql_and_redis_are_the_same() -> None:
    migration = (files("holdfast.stores.postgres.migrations") / "0001_jobs" / "4_counters.sql").read_text()
    script = (files("holdfast.stores.redis.scripts") / "shared/counters.lua").read_text()
    sql = re.search(r"width_bucket\(micros - 1, '\{([\d,]+)\}'", migration)
    lua = re.search(r"BOUNDS = \{([\d,\s]+)\}", script)

    assert sql is not None
    assert lua is not None
    assert tuple(map(int, sql[1].split(","))) == tuple(map(int, lua[1].split(","))) == BOUNDS
