"""Strategies for operations: few types, keys and times, so that operations affect each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import hypothesis.strategies as st

from holdfast.core.clock import SECOND, Micros
from holdfast.core.lifecycle import DedupScope, NewJob, Settlement
from holdfast.core.record import FOR_EVER, Record, Status
from holdfast.engine.operations import Filter

T = TypeVar("T")

TYPES = ("a", "b", "c")
KEYS = ("k", "l")
MOMENTS = (0, 1, 5 * SECOND, 10 * SECOND, 60 * SECOND)

types = st.just(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True).map(tuple)
leases = st.sampled_from((10 * SECOND, 30 * SECOND))
outputs = st.sampled_from((b"", b"null", b'"done"', b"\x00\xff"))
errors = st.sampled_from((None, b'["ValueError","no luck",""]'))
keeps = st.sampled_from((None, 0, 5 * SECOND))
limits = st.integers(1, 4)
statuses = st.lists(st.sampled_from(Status), max_size=2, unique=True).map(tuple)


def some(of: Sequence[str], unknown: str) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of these ids, sometimes twice, sometimes an unknown one."""
    known = st.lists(st.sampled_from(of), min_size=1, max_size=2).map(tuple) if of else st.just(())
    return mostly(known, st.tuples(known, st.just(unknown)).map(lambda pair: (*pair[0], pair[1])))


def mostly(usual: st.SearchStrategy[T], rare: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """The usual one; in one of twenty cases the rare one."""
    return st.integers(0, 19).flatmap(lambda number: rare if number == 19 else usual)


def filters(chains: Sequence[str], now: Micros) -> st.SearchStrategy[Filter]:
    moments = st.none() | st.sampled_from([now - moment for moment in MOMENTS])
    return st.builds(
        Filter,
        statuses=statuses,
        scheduled=st.sampled_from((None, None, True)),
        types=st.just(()) | types,
        chain_id=st.none() | st.sampled_from(chains or ("none",)),
        key=st.none() | st.sampled_from(KEYS),
        kept=st.booleans(),
        since=moments,
        until=moments,
    )


@st.composite
def jobs(draw: st.DrawFn, id: str, chains: Sequence[str], unknown: str, now: Micros) -> NewJob:
    """The first job of a chain, which may wait for some of these chains."""
    scopes: st.SearchStrategy[DedupScope] = st.sampled_from(("incomplete", "successful", "any"))
    return NewJob(
        id=id,
        type=draw(st.sampled_from(TYPES)),
        chain_id=id,
        input=draw(outputs),
        priority=draw(st.sampled_from((0, 0, 1, -1))),
        delay=draw(st.sampled_from((0, 0, 0, *MOMENTS, -SECOND))),
        at=draw(st.sampled_from((None, None, None, None, now - 5, now + 5 * SECOND))),
        max_attempts=draw(st.sampled_from((None, None, FOR_EVER, 1, 2))),
        timeout=draw(st.sampled_from((None, 5 * SECOND))),
        keep=draw(keeps),
        key=draw(st.sampled_from((None, None, *KEYS))),
        dedup=draw(scopes),
        window=draw(st.sampled_from((None, None, 0, 5 * SECOND))),
        exclude=draw(some(chains, unknown)) if draw(st.booleans()) else (),
        after=draw(blockers(chains, unknown)),
        on_blocker_failure=draw(st.sampled_from(("wait", "fail"))),
        trace=draw(st.sampled_from((None, "trace"))),
    )


@st.composite
def next_jobs(draw: st.DrawFn, job: Record | NewJob, id: str, chains: Sequence[str], unknown: str) -> NewJob:
    """The job that continues a chain."""
    return NewJob(
        id=id,
        type=draw(st.sampled_from(TYPES)),
        chain_id=job.chain_id,
        index=job.index + 1,
        input=draw(outputs),
        priority=draw(st.sampled_from((0, 1))),
        delay=draw(st.sampled_from((0, 0, 0, *MOMENTS))),
        keep=draw(keeps),
        after=draw(blockers(chains, unknown)),
        on_blocker_failure=draw(st.sampled_from(("wait", "fail"))),
    )


@st.composite
def settlements(
    draw: st.DrawFn, job: Record, continuation: NewJob, starts: Sequence[NewJob], now: Micros
) -> Settlement:
    """Any outcome of an attempt."""
    claim, kind = (
        job.claim,
        draw(st.sampled_from(("output", "output", "next", "next", "retry", "at", "end", "release", "mismatch"))),
    )
    expected = tuple(start.id for start in starts)
    match kind:
        case "output":
            return Settlement(
                claim,
                Status.COMPLETED,
                "completed",
                output=draw(outputs),
                keep=draw(keeps),
                starts=tuple(starts),
                expected=expected,
            )
        case "next":
            return Settlement(
                claim,
                Status.COMPLETED,
                "completed",
                continuation=continuation,
                starts=tuple(starts),
                expected=expected,
            )
        case "retry":
            delay = draw(st.sampled_from(MOMENTS))
            return Settlement(claim, Status.PENDING, "failed", error=draw(errors), delay=delay)
        case "at":
            moment = draw(st.sampled_from((now - SECOND, now, now + 5 * SECOND)))
            return Settlement(claim, Status.PENDING, "rescheduled", error=draw(errors), at=moment)
        case "release":
            return Settlement(claim, Status.PENDING, "released")
        case "mismatch":
            status = draw(st.sampled_from((Status.PENDING, Status.PENDING, Status.FAILED)))
            delay = 0 if status is Status.FAILED else draw(st.sampled_from(MOMENTS))
            return Settlement(claim, status, "mismatched", error=draw(errors), delay=delay)
        case _:
            status, outcome = draw(st.sampled_from(((Status.FAILED, "failed"), (Status.CANCELLED, "cancelled"))))
            return Settlement(claim, status, outcome, error=draw(errors))


def blockers(chains: Sequence[str], unknown: str) -> st.SearchStrategy[tuple[str, ...]]:
    """No blockers, or some of the newest chains, which are mostly unfinished."""
    known = st.lists(st.sampled_from(chains[-5:]), min_size=1, max_size=3).map(tuple) if chains else st.just(())
    return mostly(st.just(()) | known, st.just((unknown,)))
