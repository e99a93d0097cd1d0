"""The claim of a store, checked and repeated in the model.

Which of several jobs takes the last place of a lane depends on the turns of tracks, which the stores count differently.
So the model does not claim by itself: it takes the jobs that the store chose, and checks that the choice was right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from holdfast.core.claim_ahead import claimable
from holdfast.core.lanes import JobLanes, Lane, Track
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs
from holdfast.stores.memory import MemoryStore
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.claim import _claim  # pyright: ignore[reportPrivateUsage]


def follow(model: MemoryStore, op: ClaimJobs, chosen: Sequence[str], rates: Collection[Lane]) -> list[Record]:
    """Claim the chosen jobs. AssertionError if the claim must not choose them, or must choose others as well.

    `rates`: the rates of the store after the claim. Which job reserves a rate depends on the turns as well.
    """
    state: State = model._state  # pyright: ignore[reportPrivateUsage]
    state.clock = model.clock
    _check_ahead(state, op, chosen)
    plain = [job.id for job in _due(state, op) if job.id not in state.lanes.of]
    taken = [job_id for job_id in chosen if job_id in plain]
    assert taken == plain[: len(taken)]
    counting = {job_id for job_id in chosen if _counts(state, job_id)}
    claimed = [_take(state, op, job_id) for job_id in chosen]
    left = _startable(state, op, rates)
    _check_rates(state, op, [job for job in claimed if job.id in counting], rates)
    if len(claimed) < op.limit:
        assert left == []
    # A job that still could start could have started before. Without a free slot nothing may be claimed at all.
    if claimed and left:
        assert min(job.priority for job in claimed) >= max(job.priority for job in left)
    state.undo.clear()
    return claimed


def _check_ahead(state: State, op: ClaimJobs, chosen: Sequence[str]) -> None:
    """The number of chosen jobs is right. Stores differ in how early jobs with lanes end claims ahead."""
    ahead = {each.type for each in op.types if each.ahead}
    types = [job.type for job in _due(state, op)][: op.limit + op.ahead]
    if not state.lanes.tracks.by_id:
        assert len(chosen) == claimable(types, ahead, op.limit)
    elif len(chosen) > op.limit:
        assert all(state.jobs[each].type in ahead and each not in state.lanes.of for each in chosen)
        assert len(chosen) <= op.limit + op.ahead


def _counts(state: State, job_id: str) -> bool:
    """Whether the rates of the job count its next attempt."""
    return job_id in state.lanes.of and state.lanes.counted.get(job_id) != state.jobs[job_id].attempt + 1


def _take(state: State, op: ClaimJobs, job_id: str) -> Record:
    job, now = state.jobs[job_id], state.now()
    assert job in _due(state, op)
    assert not _waits(state, job), f"{job_id} takes a lane that is full"
    lanes = state.lanes
    waiting = lanes._waiting_job(job) if job_id in lanes.of else None  # pyright: ignore[reportPrivateUsage]
    for rule in () if job_id not in lanes.of else lanes.of[job_id].rules:
        lane = lanes.lane(rule.lane)
        assert waiting is not None
        lane.take(_track(lanes.of[job_id]), waiting, now)
        if lane.kind == "rate":
            lanes.tats[rule.lane] = lane.tat
            lanes.counted[job_id] = job.attempt + 1
    terms = {each.type: each for each in op.types}
    return _claim(state, op, terms, state.jobs[job_id], now)


def _waits(state: State, job: Record, *, counted: bool = False) -> bool:
    """Whether a lane does not let the job start. `counted`: as if its rates had not counted the attempt yet."""
    lanes = state.lanes
    if job.id not in lanes.of:
        return False
    waiting = lanes._waiting_job(job)  # pyright: ignore[reportPrivateUsage]
    waiting.counts |= counted
    track = _track(lanes.of[job.id])
    return any(not lanes.lane(rule.lane).allows(track, waiting, state.now()) for rule in lanes.of[job.id].rules)


def _is_reserved(state: State, job: Record, rates: Collection[Lane]) -> bool:
    """Whether a job of another track reserves one of these rates, so that this job must wait."""
    lanes, waiting = state.lanes.of[job.id], state.lanes._waiting_job(job)  # pyright: ignore[reportPrivateUsage]
    own = {rule.lane for rule in lanes.rules}
    return any(not replace(rate).allows(_track(lanes), waiting, state.now()) for rate in rates if rate.id in own)


def _check_rates(state: State, op: ClaimJobs, claimed: Sequence[Record], rates: Collection[Lane]) -> None:
    """No job of a rate begins before a job of a higher priority that waits for this rate alone."""
    held = {rate.id: rate for rate in rates}
    checked: set[str] = set()
    for job in _due(state, op):
        lanes = state.lanes.of.get(job.id)
        if lanes is None or lanes.track in checked:
            continue
        checked.add(lanes.track)
        waiting, track = state.lanes._waiting_job(job), _track(lanes)  # pyright: ignore[reportPrivateUsage]
        states = [replace(held.get(rule.lane) or state.lanes.lane(rule.lane)) for rule in lanes.rules]
        waits_for = [lane for lane in states if not lane.allows(track, waiting, state.now())]
        if len(waits_for) != 1 or waits_for[0].kind != "rate":
            continue
        (rate,) = waits_for
        if waiting.weights.get(rate.id, 1) > rate.burst:
            continue
        for other in claimed:
            own = state.lanes.of.get(other.id)
            counted = own is not None and any(rule.lane == rate.id and rule.weight for rule in own.rules)
            assert not counted or other.priority >= job.priority, f"{other.id} overtakes {job.id}"


def _track(lanes: JobLanes) -> Track:
    return Track(lanes.track, lanes.type, lanes.priority, lanes.fair, ())


def _startable(state: State, op: ClaimJobs, rates: Collection[Lane] = ()) -> list[Record]:
    """The due jobs that all lanes allow. If the first job of a track waits, the others wait too.

    A job that was released after its handler began does not count again, but its track may be parked at the rate.
    """
    found: list[Record] = []
    parked: set[str] = set()
    for job in _due(state, op):
        lanes = state.lanes.of.get(job.id)
        if lanes is None or (lanes.track not in parked and not _waits(state, job, counted=True)):
            if lanes is None or not _is_reserved(state, job, rates):
                found.append(job)
        elif not any(rule.kind == "order" for rule in lanes.rules):
            parked.add(lanes.track)
    return found


def _due(state: State, op: ClaimJobs) -> list[Record]:
    """The due jobs, best first."""
    types = {each.type for each in op.types} - state.paused
    now = state.now()
    found = [
        job
        for job in state.jobs.values()
        if job.status is Status.PENDING and job.type in types and job.scheduled_at <= now
    ]
    return sorted(found, key=lambda job: (-job.priority, job.scheduled_at, job.seq))
