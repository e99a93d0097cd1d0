"""Declared schedules: what is refused, and included registries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from holdfast import Jobs
from holdfast.core.schedule import Rule

jobs = Jobs()


@jobs.job
async def report(region: str) -> str:
    return region


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either cron or every"),
        ({"cron": "@daily", "every": 60}, "either cron or every"),
        ({"cron": "nonsense"}, "five fields"),
        ({"cron": "@daily", "tz": "Mars/Base"}, "no time zone"),
        ({"every": 60, "tz": "Mars/Base"}, "no time zone"),
        ({"every": 0}, "more than 0"),
        ({"every": -1}, "more than 0"),
        ({"every": 0.0001}, "at least 0.001"),
        ({"every": 60, "jitter": 60}, "jitter"),
        ({"every": 60, "jitter": -1}, "at least 0"),
        ({"every": 60, "within": -1}, "at least 0"),
        ({"every": 60, "overlap": "maybe"}, "overlap must be one of"),
        ({"every": 60, "missed": "some"}, "missed must be one of"),
        ({"every": 60, "name": ""}, "name of a schedule"),
        ({"every": 60, "name": "x" * 201}, "name of a schedule"),
        ({"every": 60, "name": "two\nlines"}, "name of a schedule"),
        ({"every": 60, "bound": report.bind("eu").options(key="k")}, "takes no key"),
        ({"every": 60, "bound": report.bind("eu").options(id="i")}, "takes no id"),
        ({"every": 60, "bound": report.bind("eu").options(after=["c"])}, "takes no after"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_at_the_declaration(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"name": "nightly", "bound": report.bind("eu")} | options
    mine = Jobs()

    with pytest.raises(ValueError, match=message):
        mine.schedule(given.pop("name"), given.pop("bound"), **given)

    assert mine.declared_schedules == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bound": report}, "report is a job type; schedule report.bind"),
        ({"bound": "report"}, "only the result of TYPE.bind"),
        ({"name": 7}, "must be a str"),
        ({"cron": 5}, "cron must be a str"),
        ({"every": "1h"}, "seconds or a timedelta"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(given: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"name": "nightly", "bound": report.bind("eu")} | given
    if "cron" not in values and "every" not in values:
        values["every"] = 60

    with pytest.raises(TypeError, match=message):
        Jobs().schedule(values.pop("name"), values.pop("bound"), **values)


def test_times_may_be_seconds_or_timedeltas_and_zones_names_or_objects() -> None:
    mine = Jobs()
    mine.schedule("a", report.bind("eu"), every=timedelta(hours=1), jitter=timedelta(seconds=5), within=60)
    mine.schedule("b", report.bind("eu"), cron="@daily", tz=ZoneInfo("Europe/Paris"))
    mine.schedule("c", report.bind("eu").options(priority=3, delay=5), every=0.5, tz="Asia/Tokyo")

    rules = {name: declared.rule for name, declared in mine.declared_schedules.items()}
    assert rules == {
        "a": Rule(every=3_600_000_000),
        "b": Rule(cron="@daily", tz="Europe/Paris"),
        "c": Rule(every=500_000, tz="Asia/Tokyo"),
    }


def test_a_name_is_declared_once() -> None:
    mine = Jobs()
    mine.schedule("nightly", report.bind("eu"), cron="@daily")

    with pytest.raises(ValueError, match="two schedules 'nightly'"):
        mine.schedule("nightly", report.bind("us"), cron="@daily")


def test_the_schedules_of_an_included_registry_belong_to_the_including_one() -> None:
    inner, outer = Jobs(name="inner"), Jobs(name="outer")
    inner.schedule("nightly", report.bind("eu"), cron="@daily")
    outer.include(inner)
    outer.include(inner)

    assert list(outer.declared_schedules) == ["nightly"]
    assert (outer.name, Jobs().name) == ("outer", "default")
