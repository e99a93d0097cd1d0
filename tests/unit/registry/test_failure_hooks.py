"""Which types may be a failure hook."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Attempt, Failure, Jobs, Retry
from holdfast.client.new_jobs import new_chain
from holdfast.core.details import FailureHook, JobDetails, read_details

jobs = Jobs()


@jobs.job
async def fits(failure: Failure) -> None: ...


@jobs.job(retry=Retry(max_attempts=4), priority=2, keep=5)
async def takes_an_attempt(attempt: Attempt, what: Failure) -> None: ...


@jobs.job
async def takes_nothing() -> None: ...


@jobs.job
async def takes_two(failure: Failure, more: int = 1) -> None: ...


@jobs.job
async def takes_a_dict(failure: dict[str, Any]) -> None: ...


@jobs.job
async def takes_anything(failure) -> None: ...  # type: ignore[no-untyped-def]


def test_a_hook_takes_exactly_one_failure() -> None:
    for hook in (takes_nothing, takes_two, takes_a_dict, takes_anything):
        with pytest.raises(
            TypeError, match=f"on_failure={hook.name}: it must take exactly one parameter of type Failure"
        ):
            jobs.job(on_failure=hook)


def test_a_hook_is_a_job_type() -> None:
    with pytest.raises(TypeError, match="on_failure must be a job type, not str"):
        jobs.job(on_failure="fits")  # type: ignore[call-overload]


def test_the_hook_is_stored_with_its_options() -> None:
    @Jobs().job(on_failure=takes_an_attempt)
    async def charge() -> None: ...

    plain = new_chain(Jobs().job(on_failure=fits)(_nothing).bind())

    assert read_details(plain.details).on_failure == FailureHook("fits", "failure", keep=fits.keep_micros)
    stored = read_details(new_chain(charge.bind(), JobDetails(trace="t")).details)
    assert stored.trace == "t"
    assert stored.on_failure == FailureHook("takes_an_attempt", "what", 2, 4, 5_000_000)


def test_a_type_without_hook_stores_no_details() -> None:
    assert new_chain(fits.bind(Failure("a", "a", "t", {}, "E", 1))).details is None


def test_the_repr_of_a_failure_does_not_contain_the_payload() -> None:
    assert "secret" not in repr(Failure("a", "b", "t", {"card": "secret"}, "E: secret", 1))


async def _nothing() -> None: ...
