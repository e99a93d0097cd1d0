"""Times as people type and read them."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.cli.exit_codes import Mistake
from holdfast.cli.times import duration, instant, lasting, relative, since, zoned

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), (".5s", 0.5), ("250ms", 0.25), ("30s", 30), ("5m", 300), ("2h", 7200), ("7 d", 604800)],
)
def test_a_duration_is_a_number_with_a_unit(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 minutes", "1e3", "nan", "inf", "1h30m"])
def test_what_is_no_duration_is_a_mistake_that_shows_how_to_write_one(text: str) -> None:
    with pytest.raises(Mistake, match="30s"):
        duration(text)


def test_since_takes_how_long_ago_or_when() -> None:
    assert since("2h", now=NOW) == NOW - timedelta(hours=2)
    assert since("2026-01-30T12:00:00Z", now=NOW) == NOW - timedelta(days=1)
    assert since(None) is None


def test_a_time_without_a_zone_is_the_local_one() -> None:
    assert instant("2026-01-31T12:00") == datetime(2026, 1, 31, 12).astimezone()


def test_where_the_zone_matters_it_must_be_said() -> None:
    assert zoned("2026-01-31T12:00:00Z", "--at") == NOW
    for text in ("2026-01-31T12:00:00", "2026-01-31"):
        with pytest.raises(Mistake, match=r"--at '2026-01-31.*' has no time zone"):
            zoned(text, "--at")


def test_what_is_no_time_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="'yesterday' is no time"):
        since("yesterday")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0ms"), (0.0854, "85ms"), (4.23, "4.2s"), (59.4, "59s"), (60, "1m"), (200, "3m20s"),
        (3599, "59m59s"), (3600, "1h"), (86399, "23h59m"), (86400, "1d"), (183600, "2d3h"),
        (8640000, "100d"),
    ],
)  # fmt: skip
def test_a_duration_reads_in_at_most_two_units(seconds: float, shown: str) -> None:
    assert lasting(seconds) == shown


def test_an_instant_is_shown_as_seen_from_now() -> None:
    assert relative(NOW - timedelta(seconds=5), NOW) == "5.0s ago"
    assert relative(NOW + timedelta(minutes=3), NOW) == "in 3m"
    assert relative(None, NOW) == "-"
