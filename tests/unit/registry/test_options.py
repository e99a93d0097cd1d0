"""Start options are checked where they are given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.core.defaults import KEEP
from holdfast.registry.jobs import Jobs
from holdfast.registry.options import StartOptions, TypeOptions

jobs = Jobs()


@jobs.job
def resize(image_id: int) -> None: ...


@dataclass
class SomeChain:
    id: str


def test_start_options_are_merged() -> None:
    bound = resize.bind(1).options(key="img-1", delay=60, after=[SomeChain("a"), "b", "a"])

    again = bound.options(dedup="any", window=timedelta(hours=1), exclude=["c"], priority=5)

    assert again.start_options == StartOptions(
        key="img-1",
        delay=60,
        after=("a", "b"),
        dedup="any",
        window=timedelta(hours=1),
        exclude=("c",),
        priority=5,
    )
    assert bound.start_options.priority is None
    assert again.input == bound.input


def test_a_bound_call_cannot_be_changed() -> None:
    bound = resize.bind(1)

    with pytest.raises(AttributeError):
        bound.input = b""  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delay": 1, "at": datetime(2024, 1, 1, tzinfo=UTC)}, "either delay or at"),
        ({"at": datetime(2024, 1, 1)}, "has no time zone"),  # noqa: DTZ001
        ({"delay": -1}, "delay must be at least 0 seconds, and at most a hundred years, not -1"),
        ({"delay": float("nan")}, "delay"),
        ({"delay": timedelta(days=40_000)}, "delay"),
        ({"timeout": 0}, "timeout must be more than 0"),
        ({"key": ""}, "key must have between 1 and 512"),
        ({"key": "x" * 513}, "key must have between 1 and 512"),
        ({"key": "a\0"}, "key: text with a NUL"),
        ({"key": "\ud800"}, "key: text with a lone surrogate"),
        ({"id": "a\0"}, "id: text with a NUL"),
        ({"window": 5}, "need.? a key"),
        ({"dedup": "any"}, "need.? a key"),
        ({"exclude": ["a"]}, "need.? a key"),
        ({"key": "a", "dedup": "all"}, "dedup must be one of 'incomplete', 'any'"),
        ({"key": "a", "window": 0}, "window must be more than 0"),
        ({"priority": 2**31}, "priority must fit 32 bits"),
        ({"max_attempts": 0}, "max_attempts must be at least 1"),
        ({"max_attempts": 2**31}, "max_attempts must be at least 1 and fit 32 bits"),
        ({"on_blocker_failure": "cry"}, "on_blocker_failure must be one of"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        resize.bind(1).options(**options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": 5}, "key must be a str"),
        ({"delay": "5"}, "delay must be seconds or a timedelta"),
        ({"delay": True}, "delay must be seconds or a timedelta"),
        ({"max_attempts": "3"}, "max_attempts must be an int"),
        ({"max_attempts": 1.5}, "max_attempts must be an int"),
        ({"at": "2026-01-31"}, "at must be a datetime"),
        ({"priority": True}, "priority must be an int"),
        ({"after": "one"}, "after takes a list"),
        ({"after": [5]}, "after takes chains or their ids, not int"),
        ({"key": "a", "exclude": [""]}, "exclude takes chains"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        resize.bind(1).options(**options)


@pytest.mark.parametrize(
    "options", [{"lease": 0}, {"timeout": -1}, {"keep": -1}, {"priority": 2**31}, {"executor": "fibre"}]
)
def test_invalid_type_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        jobs.job(**options)


def test_a_chain_is_kept_for_a_week_by_default() -> None:
    assert TypeOptions().keep == KEEP == timedelta(days=7)
    with pytest.raises(TypeError, match="retry must be a Retry"):
        jobs.job(retry=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
