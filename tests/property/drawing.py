"""Strategies for operations: few types, keys and times, so that operations affect each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import hypothesis.strategies as st
from msgspec.structs import replace

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.clock import SECOND, Micros
from holdfast.core.details import FailureHook, JobDetails, write_details, write_hook, write_lanes
from holdfast.core.error_groups import StoredFailure
from holdfast.core.lanes import JobLanes, LaneRule, job_lanes
from holdfast.core.lifecycle import DedupScope, NewJob, Settlement, hook_chain
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.engine.operations import Filter, LimitDeclaration
from holdfast.testing.lanes import limit, order, rate
from tests.property.hook_ids import PARAMETER

T = TypeVar("T")

TYPES = ("a", "b", "c")
KEYS = ("k", "l")
MOMENTS = (0, 1, 5 * SECOND, 10 * SECOND, 60 * SECOND)

RULES = (
    limit(2, name="gpu"),
    *(limit(1, name="tenant", key=key) for key in "xy"),
    rate(1, per=10, burst=2, name="api"),
    rate(1, per=10, burst=2, weight=2, name="api"),
    rate(1, per=10, burst=2, weight=0, name="api"),
    rate(2, per=5, name="slow", key="x"),
    *(order(name="account", key=key) for key in "xy"),
    order(name="queue", hold=False),
    order(name="saga", chain=True),
)
"""Few lanes, so that jobs wait for each other."""
ORDERS = {rule.name for rule in RULES if rule.kind == "order"}
LANES = tuple(sorted({rule.lane for rule in RULES}))
DECLARATIONS = (
    LimitDeclaration("gpu", "limit", 1),
    LimitDeclaration("gpu", "limit", 3),
    LimitDeclaration("tenant", "limit", 2),
    LimitDeclaration("api", "rate", 1, per=10 * SECOND, burst=2),
    LimitDeclaration("api", "rate", 2, per=10 * SECOND, burst=3),
    LimitDeclaration("account", "order", 1),
    LimitDeclaration("other", "limit", 5),
)

types = st.just(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True).map(tuple)
leases = st.sampled_from((10 * SECOND, 30 * SECOND))
outputs = st.sampled_from((b"", b"null", b'"done"', b"\x00\xff"))
errors = st.sampled_from(
    (None, b'["ValueError","no luck",""]', '["Fehler","ärger [1]",""]'.encode(), b'["Luck","",""]')
)
failures = st.sampled_from((None, StoredFailure("f1", '["E","",""]'), StoredFailure("f2", '["F","",""]')))
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
        created_since=moments,
        created_until=moments,
        failed_since=st.none() | moments,
        finished_since=st.none() | moments,
        error=st.sampled_from((None, None, None, "LUCK", "r: No", "other", "Ärger", "[")),
        worker=st.sampled_from((None, None, None, "one", "two")),
        chain_types=st.just(()) | types,
    )


@st.composite
def lanes(draw: st.DrawFn, type: str, priority: int) -> JobLanes | None:
    """No lanes, or one to three of them, of different names and at most one order."""
    wanted = draw(st.sampled_from((0, 0, 1, 1, 2, 3)))
    rules: dict[str, LaneRule] = {}
    for _ in range(wanted):
        rule = draw(st.sampled_from(RULES))
        if rule.kind != "order" or all(other.kind != "order" for other in rules.values()):
            rules.setdefault(rule.name, rule)
    return job_lanes(type, priority, tuple(rules.values()), next(iter(rules.values())).lane) if rules else None


@st.composite
def hooks(draw: st.DrawFn) -> FailureHook | None:
    """No hook, or one that may have lanes and a hook of its own."""
    if draw(st.integers(0, 2)):
        return None
    type, then = draw(st.sampled_from(TYPES)), draw(st.sampled_from((None, FailureHook("a", PARAMETER))))
    own = draw(lanes(type, 0))
    return FailureHook(
        type,
        PARAMETER,
        max_attempts=draw(st.sampled_from((None, 1))),
        keep=draw(keeps),
        then=None if then is None else write_hook(then),
        hook_lanes=None if own is None else write_lanes(own),
    )


@st.composite
def jobs(draw: st.DrawFn, id: str, chains: Sequence[str], unknown: str, now: Micros) -> NewJob:
    """The first job of a chain, which may wait for some of these chains."""
    scopes: st.SearchStrategy[DedupScope] = st.sampled_from(("incomplete", "successful", "any", "waiting", "waiting"))
    type, priority = draw(st.sampled_from(TYPES)), draw(st.sampled_from((0, 0, 1, -1)))
    own, hook = draw(lanes(type, priority)), draw(hooks())
    origin = draw(st.sampled_from((None, None, unknown, *chains)))
    details = JobDetails(origin, trace=draw(st.sampled_from((None, "t"))), on_failure=hook, lanes=own)
    return NewJob(
        id=id,
        type=type,
        chain_id=id,
        input=draw(outputs) if hook is None else b'{"a": 1}',
        priority=priority,
        delay=draw(st.sampled_from((0, 0, 0, *MOMENTS, -SECOND))),
        at=draw(st.sampled_from((None, None, None, None, now - 5, now + 5 * SECOND))),
        max_attempts=draw(st.sampled_from((None, None, UNLIMITED, 1, 2))),
        timeout=draw(st.sampled_from((None, 5 * SECOND))),
        keep=draw(keeps),
        key=draw(st.sampled_from((None, None, *KEYS))),
        dedup=draw(scopes),
        window=draw(st.sampled_from((None, None, 0, 5 * SECOND))),
        exclude=draw(some(chains, unknown)) if draw(st.booleans()) else (),
        after=draw(blockers(chains, unknown)),
        on_blocker_failure=draw(st.sampled_from(("wait", "fail", WHEN_FAILED, WHEN_ENDED))),
        due_within=draw(st.sampled_from((None, None, *MOMENTS))),
        details=write_details(details),
        track=None if own is None else own.track,
    )


@st.composite
def next_jobs(draw: st.DrawFn, job: Record | NewJob, id: str, chains: Sequence[str], unknown: str) -> NewJob:
    """The job that continues a chain."""
    type, priority = draw(st.sampled_from(TYPES)), draw(st.sampled_from((0, 1)))
    own, hook = draw(lanes(type, priority)), draw(hooks())
    return NewJob(
        id=id,
        type=type,
        chain_id=job.chain_id,
        index=job.index + 1,
        input=draw(outputs) if hook is None else b'{"a": 1}',
        priority=priority,
        details=write_details(JobDetails(on_failure=hook, lanes=own)),
        track=None if own is None else own.track,
        delay=draw(st.sampled_from((0, 0, 0, *MOMENTS))),
        keep=draw(keeps),
        after=draw(blockers(chains, unknown)),
        on_blocker_failure=draw(st.sampled_from(("wait", "fail", WHEN_FAILED, WHEN_ENDED))),
    )


@st.composite
def settlements(
    draw: st.DrawFn, job: Record, continuation: NewJob, starts: Sequence[NewJob], now: Micros
) -> Settlement:
    """Any outcome of an attempt."""
    claim = job.claim
    kind = draw(st.sampled_from(("output", "output", "next", "next", "retry", "at", "end", "release", "mismatch")))
    match kind:
        case "output" | "next":
            completed = Settlement(
                claim, Status.COMPLETED, "completed", starts=tuple(starts), expected=tuple(start.id for start in starts)
            )
            if kind == "next":
                return replace(completed, continuation=continuation)
            return replace(completed, output=draw(outputs), keep=draw(keeps))
        case "retry":
            delay = draw(st.sampled_from(MOMENTS))
            failure = draw(failures)
            return Settlement(claim, Status.PENDING, "failed", error=draw(errors), delay=delay, failure=failure)
        case "at":
            moment = draw(st.sampled_from((now - SECOND, now, now + 5 * SECOND)))
            return Settlement(claim, Status.PENDING, "rescheduled", error=draw(errors), at=moment)
        case "release":
            return Settlement(claim, Status.PENDING, "released", begun=draw(st.booleans()))
        case "mismatch":
            return draw(mismatches(job, continuation.id))
        case _:
            return draw(ends(job, continuation.id))


@st.composite
def mismatches(draw: st.DrawFn, job: Record, hook_id: str) -> Settlement:
    """An input that the worker cannot read: the job waits, or fails."""
    status = draw(st.sampled_from((Status.PENDING, Status.PENDING, Status.FAILED)))
    delay = 0 if status is Status.FAILED else draw(st.sampled_from(MOMENTS))
    error = draw(errors)
    failed = replace(job, error=error, attempt=job.attempt - 1)
    hooks = _hook(failed, hook_id) if status is Status.FAILED else ()
    expected = tuple(hook.id for hook in hooks)
    return Settlement(job.claim, status, "mismatched", error=error, delay=delay, starts=hooks, expected=expected)


@st.composite
def ends(draw: st.DrawFn, job: Record, hook_id: str) -> Settlement:
    """The failure or cancellation of a job."""
    status, outcome = draw(st.sampled_from(((Status.FAILED, "failed"), (Status.CANCELLED, "cancelled"))))
    failure = draw(failures) if status is Status.FAILED else None
    error = draw(errors)
    hooks = _hook(replace(job, error=error), hook_id) if status is Status.FAILED else ()
    expected = tuple(hook.id for hook in hooks)
    return Settlement(job.claim, status, outcome, error=error, failure=failure, starts=hooks, expected=expected)


def _hook(failed: Record, id: str) -> tuple[NewJob, ...]:
    """The chain that this failure starts. The worker chooses its id."""
    hook = hook_chain(failed)
    return () if hook is None else (replace(hook, id=id, chain_id=id),)


def blockers(chains: Sequence[str], unknown: str) -> st.SearchStrategy[tuple[str, ...]]:
    """No blockers, or some of the newest chains, which are mostly unfinished."""
    known = st.lists(st.sampled_from(chains[-5:]), min_size=1, max_size=3).map(tuple) if chains else st.just(())
    return mostly(st.just(()) | known, st.just((unknown,)))
