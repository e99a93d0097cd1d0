"""`blockers=`: what may be declared, and which annotations of the attempt fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast import Attempt, Bound, Chain, Failure, Jobs, JobType, SyncAttempt, WrongBlockers, each
from holdfast.client.new_jobs import new_chain

jobs = Jobs()


@jobs.job
async def extract(page: int) -> str:
    return f"{page}"


@jobs.job
def count(page: int) -> int | Bound[int]:
    return page


def test_a_new_job_has_the_declared_types_of_its_blockers() -> None:
    registry = Jobs()

    @registry.job(blockers=(extract, count))
    async def load(attempt: Attempt[Any, tuple[str, int]], table: str) -> None: ...

    @registry.job(blockers=each(extract))
    def merge() -> None: ...

    loads: Any = load.bind("a")
    merges: Any = merge.bind()
    assert new_chain(loads.options(after=("x", "y"))).blocker_types == ("extract", "count")
    assert new_chain(merges.options(after=("x", "y", "z"))).blocker_types == ("extract",) * 3
    assert new_chain(extract.bind(1).options(after=["x"])).blocker_types == ()
    with pytest.raises(WrongBlockers, match=r"load: .* 2 different chains, of type extract, count; after is missing"):
        new_chain(loads)
    with pytest.raises(WrongBlockers, match="after names 1"):
        new_chain(loads.options(after=("x", "x")))
    with pytest.raises(WrongBlockers, match=r"merge: .* chains of type extract, at least one; after is missing"):
        new_chain(merges)


def test_the_annotation_of_the_attempt_must_accept_the_outputs() -> None:
    async def same(attempt: Attempt[Any, tuple[str, int]]) -> None: ...
    async def wider(attempt: Attempt[Any, tuple[str | Failure, float]]) -> None: ...
    async def any_number(attempt: Attempt[Any, tuple[str | int, ...]]) -> None: ...
    async def sequence(attempt: Attempt[Any, Sequence[Any], int]) -> None: ...
    async def untyped(attempt: Attempt) -> None: ...
    async def other_parameters(attempt: Attempt[Any, Any, int]) -> None: ...
    async def no_attempt(page: int) -> None: ...

    for number, fits in enumerate((same, wider, any_number, sequence, untyped, other_parameters, no_attempt)):
        jobs.job(blockers=(extract, count), name=f"fits-{number}")(fits)  # type: ignore[arg-type]

    async def swapped(attempt: Attempt[Any, tuple[int, str]]) -> None: ...
    async def too_few(attempt: Attempt[Any, tuple[str]]) -> None: ...
    async def of_text(attempt: Attempt[Any, tuple[str, ...]]) -> None: ...
    async def no_tuple(attempt: Attempt[Any, str]) -> None: ...
    def plain(attempt: SyncAttempt[Any, tuple[int, int]]) -> None: ...

    for wrong in (swapped, too_few, of_text, no_tuple, plain):
        with pytest.raises(TypeError, match=r"its blockers give tuple\[str, int\], and its attempt is annotated with"):
            jobs.job(blockers=(extract, count))(wrong)  # pyright: ignore[reportCallIssue, reportArgumentType]

    with pytest.raises(TypeError, match=r"its blockers give tuple\[str, ...\]"):
        jobs.job(blockers=each(extract))(same)  # type: ignore[arg-type]


def test_the_handler_of_a_declaration_is_checked_too() -> None:
    registry = Jobs()

    @registry.declare(blockers=(extract,))
    async def load(table: str) -> None: ...

    with pytest.raises(TypeError, match=r"load: its blockers give tuple\[str\]"):

        @load.handler
        async def wrong(attempt: Attempt[Any, tuple[int]], table: str) -> None: ...

    @load.handler
    def right(attempt: SyncAttempt[Any, tuple[str]], table: str) -> None: ...


def test_blockers_are_job_types() -> None:
    for wrong in (extract, "extract", 1, ("extract",), {extract}):
        with pytest.raises(TypeError, match="blockers"):
            jobs.job(blockers=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="blockers is empty"):
        jobs.job(blockers=())
    with pytest.raises(TypeError, match="blockers are job types, not str"):
        each("extract")  # type: ignore[arg-type]


def test_a_hook_and_a_schedule_cannot_have_blockers() -> None:
    registry = Jobs()

    @registry.job(blockers=(extract,))
    async def report(failure: Failure) -> None: ...

    with pytest.raises(TypeError, match="a hook waits for no other chain"):
        registry.job(on_failure=report)
    bound: Any = report.bind(Failure("a", "a", "b", {}, "c", 1))
    with pytest.raises(ValueError, match="a scheduled start waits for no other chain"):
        registry.schedule("nightly", bound.options(after=("x",)), cron="@daily")


def test_the_type_parameters_can_be_written_at_run_time() -> None:
    Bound[str, tuple[Chain[str]]]
    JobType[..., ..., str, Any]

    @Jobs().job
    async def continues(page: int) -> Bound[str, Any]:
        return extract.bind(page)

    assert continues.signature.returns is str
