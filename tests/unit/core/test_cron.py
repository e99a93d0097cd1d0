"""The instants of cron expressions, especially where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from holdfast.core.clock import to_datetime, to_micros
from holdfast.core.cron import check_cron, fields, instants, zone_of

PARIS = ZoneInfo("Europe/Paris")


def _next(expression: str, after: str, *, zone: str = "UTC", number: int = 1) -> list[str]:
    """The next instants after a wall-clock time with its offset, as wall-clock times with theirs."""
    start = to_micros(datetime.fromisoformat(after))
    found = islice(instants(expression, zone_of(zone), start), number)
    return [to_datetime(each).astimezone(zone_of(zone)).isoformat(timespec="minutes") for each in found]


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("* * * * *", "2026-01-31T23:59:30Z", "2026-02-01T00:00"),
        ("0 0 * * *", "2026-01-31T00:00:00Z", "2026-02-01T00:00"),
        ("*/15 * * * *", "2026-01-31T12:16:00Z", "2026-01-31T12:30"),
        ("5/15 * * * *", "2026-01-31T12:21:00Z", "2026-01-31T12:35"),
        ("0-30/10 9-17 * * *", "2026-01-31T17:30:00Z", "2026-02-01T09:00"),
        ("0 9 * * MON-FRI", "2026-01-31T00:00:00Z", "2026-02-02T09:00"),
        ("0 9 * * mon,wed", "2026-02-02T09:00:00Z", "2026-02-04T09:00"),
        ("0 0 * * 0", "2026-01-31T00:00:00Z", "2026-02-01T00:00"),
        ("0 0 * * 7", "2026-01-31T00:00:00Z", "2026-02-01T00:00"),
        ("0 0 1 JAN *", "2026-01-31T00:00:00Z", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2026-01-31T00:00:00Z", "2028-02-29T00:00"),
        ("0 0 31 * *", "2026-02-01T00:00:00Z", "2026-03-31T00:00"),
        ("0 0 L * *", "2026-02-01T00:00:00Z", "2026-02-28T00:00"),
        ("0 0 LW * *", "2026-01-01T00:00:00Z", "2026-01-30T00:00"),
        ("0 0 * * 5L", "2026-01-01T00:00:00Z", "2026-01-30T00:00"),
        ("0 0 * * MON#2", "2026-01-01T00:00:00Z", "2026-01-12T00:00"),
        # Both day fields restricted: one of them is enough.
        ("0 0 13 * FRI", "2026-01-01T00:00:00Z", "2026-01-02T00:00"),
        ("0 0 13 * FRI", "2026-01-09T00:00:00Z", "2026-01-13T00:00"),
        # One of them begins with a star: both must match.
        ("0 0 */2 * MON", "2026-01-01T00:00:00Z", "2026-01-05T00:00"),
        ("@hourly", "2026-01-31T12:16:00Z", "2026-01-31T13:00"),
        ("@daily", "2026-01-31T12:16:00Z", "2026-02-01T00:00"),
        ("@midnight", "2026-01-31T12:16:00Z", "2026-02-01T00:00"),
        ("@weekly", "2026-01-31T12:16:00Z", "2026-02-01T00:00"),
        ("@MONTHLY", "2026-01-31T12:16:00Z", "2026-02-01T00:00"),
        ("@yearly", "2026-01-31T12:16:00Z", "2027-01-01T00:00"),
        ("@annually", "2026-01-31T12:16:00Z", "2027-01-01T00:00"),
        ("  0   0\t*  * * ", "2026-01-31T12:16:00Z", "2026-02-01T00:00"),
    ],
)
def test_an_expression_fires_next_at(expression: str, after: str, expected: str) -> None:
    assert _next(expression, after) == [f"{expected}+00:00"]


def test_instants_are_later_than_the_start_and_increase() -> None:
    for expression in ("*/20 * * * *", "30 2 * * *", "0,30 1-3 * * *", "*/7 2 * * *"):
        for day in (to_micros(datetime(2026, 3, 28, tzinfo=UTC)), to_micros(datetime(2026, 10, 24, tzinfo=UTC))):
            found = list(islice(instants(expression, PARIS, day), 200))
            assert found[0] > day
            assert all(one < other for one, other in pairwise(found))


def test_each_start_gives_the_same_sequence() -> None:
    """Continuing from any instant gives the rest of the sequence, also within a repeated hour."""
    for expression in ("*/20 * * * *", "30 2 * * *", "*/20 2 * * *", "0 * * * *"):
        for day in (datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 10, 24, 22, tzinfo=UTC)):
            whole = list(islice(instants(expression, PARIS, to_micros(day)), 30))
            for at, instant in enumerate(whole[:-1]):
                assert next(instants(expression, PARIS, instant)) == whole[at + 1]
                assert next(instants(expression, PARIS, instant + 1)) == whole[at + 1]


def test_several_fixed_times_in_one_gap_fire_once() -> None:
    found = _next("0,30 2 * * *", "2026-03-28T12:00:00Z", zone="Europe/Paris", number=3)
    assert found == ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00", "2026-03-30T02:30+02:00"]


def test_a_fixed_time_after_the_gap_is_not_doubled_by_one_in_the_gap() -> None:
    found = _next("0 2,3 * * *", "2026-03-28T12:00:00Z", zone="Europe/Paris", number=2)
    assert found == ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]


def test_a_step_without_a_star_follows_the_wall_clock() -> None:
    found = _next("0/30 2 * * *", "2026-03-28T12:00:00Z", zone="Europe/Paris")
    assert found == ["2026-03-30T02:00+02:00"]


def test_the_first_occurrence_is_found_from_the_other_half_of_the_year() -> None:
    found = _next("*/30 2 25 10 *", "2026-02-01T00:00:00Z", zone="Europe/Paris", number=4)
    assert found == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T02:30+01:00",
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "five fields.*has 0"),
        ("* * * *", "has 4"),
        ("* * * * * *", "has 6: seconds are not supported"),
        ("@reboot", "@reboot is no time"),
        ("@often", "no name '@often'"),
        ("60 * * * *", "the minute '60' is invalid: use 0 to 59"),
        ("* 24 * * *", "the hour '24' is invalid: use 0 to 23"),
        ("* * 0 * *", "the day '0' is invalid: use 1 to 31"),
        ("* * 32 * *", "the day '32' is invalid: use 1 to 31"),
        ("* * * 13 *", "the month '13' is invalid: use 1 to 12"),
        ("* * * * 8", "the weekday '8' is invalid: use 0 to 7"),
        ("*/0 * * * *", r"the minute '\*/0' is invalid"),
        ("5-1 * * * *", "the minute '5-1' is invalid"),
        ("a * * * *", "the minute 'a' is invalid"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 * 2 MON#6", "the weekday 'MON#6' is invalid"),
    ],
)
def test_an_invalid_expression_is_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_cron(expression, PARIS)


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", "/etc/localtime"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        zone_of(name)


def test_names_stand_for_five_fields() -> None:
    assert fields("@daily") == "0 0 * * *"
