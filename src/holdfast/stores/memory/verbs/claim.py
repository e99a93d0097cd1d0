"""Claim: assign due jobs to a worker, best first."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.lane_choice import choose, jobs_to_read
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimedJobs, ClaimJobs, TypeTerms
from holdfast.stores.memory.state import State
from holdfast.stores.memory.tracks import StoredTrack

Entry = tuple[int, Micros, int, str]


def claim(state: State, op: ClaimJobs) -> list[Record]:
    if op.again and (claimed_before := _claimed_before(state, op.token)):
        return claimed_before
    state.change_indexes()
    now = state.now()
    terms = {terms.type: terms for terms in op.types if terms.type not in state.paused}
    for name in terms:
        _promote(state, name, now)
    if not state.lanes.tracks.by_id:
        jobs = [state.jobs[entry[3]] for entry in _take_plain(state, terms, op.limit, op.ahead)]
        new = {job.id for job in jobs if job.started_at is None} if op.finds_new else ()
        return ClaimedJobs([_claim(state, op, terms, job, now) for job in jobs], new)
    claimed: list[Record] = []
    while len(claimed) < op.limit and (more := _claim_some(state, op, terms, op.limit - len(claimed))) is not None:
        claimed += more
    return sorted(claimed, key=lambda job: -job.priority)


def _claim_some(state: State, op: ClaimJobs, terms: Mapping[str, TypeTerms], limit: int) -> list[Record] | None:
    """Claim plain jobs and jobs of ready tracks. None if there are none. Some of the tracks may have to wait."""
    lanes, now = state.lanes, state.now()
    lanes.wake_due(state)
    stored = _take_tracks(state, terms, limit)
    plain = list(_take_plain(state, terms, limit))
    if not stored and not plain:
        return None
    tracks = [each.track for each in stored]
    wanted = jobs_to_read(tracks, limit)
    for each in stored:
        lanes.fill(state, each, wanted[each.track.priority])
    states = {lane: lanes.lane(lane) for track in tracks for lane in track.lanes}
    priorities = [-priority for priority, *_ in plain]
    unread = stored[-1].track.priority if len(stored) == limit else None
    choice = choose(tracks, states, priorities, limit=limit, now=now, lanes_next=lanes.lanes_next, unread=unread)
    lanes.lanes_next = choice.lanes_next
    for entry in plain[choice.plain :]:
        heapq.heappush(state.due[state.jobs[entry[3]].type], entry)
    claimed = [_claim(state, op, terms, state.jobs[entry[3]], now) for entry in plain[: choice.plain]]
    for track, job in choice.taken:
        lanes.tracks.served(track)
        if any(states[lane].kind == "rate" for lane in track.lanes):
            state.set(lanes.counted, job.id, state.jobs[job.id].attempt + 1)
        claimed.append(_claim(state, op, terms, state.jobs[job.id], now))
    for after in states.values():
        lanes.save(state, after)
    _park_or_put_back(state, stored, states, choice.parked)
    return claimed if claimed or choice.parked else None


def _park_or_put_back(
    state: State, stored: Collection[StoredTrack], lanes_read: Collection[str], parked: Mapping[str, str]
) -> None:
    """Return the tracks that a claim has read. `parked`: the full lane of each track that has to wait for one."""
    lanes = state.lanes
    for each in stored:
        if (full := parked.get(each.track.id)) is not None:
            lanes.tracks.park(each, full)
        else:
            lanes.put_back(state, each)
    # A track that had room at one of its lanes may have had to wait for another: other tracks may use the room.
    full_lanes = set(parked.values())
    for lane in lanes_read:
        if lane not in full_lanes:
            lanes.wake(state, lane)


def _take_tracks(state: State, types: Collection[str], limit: int) -> list[StoredTrack]:
    """The best ready tracks. Those without a due job use no slot of the claim."""
    lanes, found = state.lanes, list[StoredTrack]()
    while len(found) < limit and (ready := lanes.tracks.take_ready(types, limit - len(found), state.now())):
        for stored in ready:
            lanes.fill(state, stored, 1)
            if stored.track.jobs:
                found.append(stored)
            else:
                lanes.put_back(state, stored)
    return found


def _take_plain(state: State, terms: Mapping[str, TypeTerms], limit: int, ahead: int = 0) -> Iterator[Entry]:
    """Take the best due jobs without lanes from the heaps. A job that is in a heap twice is taken once."""
    taken = 0
    heads = [(heap[0], name) for name in terms if (heap := state.due_heap(name))]
    heapq.heapify(heads)
    while heads and taken < limit + ahead:
        entry, name = heads[0]
        if not terms[name].ahead:
            ahead = 0
            if taken >= limit:
                break
        due = state.due[name]
        heapq.heappop(due)
        taken += 1
        yield entry
        while due and due[0] == entry:
            heapq.heappop(due)
        if heap := state.due_heap(name):
            heapq.heapreplace(heads, (heap[0], name))
        else:
            heapq.heappop(heads)


def _claim(state: State, op: ClaimJobs, terms: Mapping[str, TypeTerms], job: Record, now: Micros) -> Record:
    own = terms[job.type]
    job = replace(
        job,
        status=Status.RUNNING,
        attempt=job.attempt + 1,
        max_attempts=own.max_attempts if job.max_attempts is None else job.max_attempts,
        worker=op.worker,
        token=op.token,
        leased_until=now + own.lease,
        renewed_at=now,
        started_at=now,
        progress=None,
        progress_note=None,
    )
    state.put(job, "claimed")
    return job


def _claimed_before(state: State, token: str) -> list[Record]:
    held = [job for job in state.jobs.values() if job.status is Status.RUNNING and job.token == token]
    return sorted(held, key=lambda job: (-job.priority, job.scheduled_at, job.seq))


def _promote(state: State, name: str, now: Micros) -> None:
    """Move jobs that are now due from the heap ordered by time to the heap ordered by priority."""
    scheduled = state.scheduled[name]
    while scheduled and scheduled[0][0] <= now:
        due, seq, job_id = heapq.heappop(scheduled)
        if state.pending_at(due, seq, job_id):
            heapq.heappush(state.due[name], (-state.jobs[job_id].priority, due, seq, job_id))
