"""The lanes of the memory store: which jobs hold a lane, and what a change of a job means for its lanes."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from holdfast.core.clock import Micros
from holdfast.core.details import lanes_of
from holdfast.core.lanes import SEPARATOR, JobLanes, Lane, LaneRule, WaitingJob, interval, rate_allows_at
from holdfast.core.record import Record, Status
from holdfast.stores.limit_reports import LimitRow
from holdfast.stores.memory.rate_reservation import RateReservation
from holdfast.stores.memory.tracks import StoredTrack, Tracks

if TYPE_CHECKING:
    from holdfast.stores.memory.state import State


class Lanes:
    """The tables of lanes. `State.set` changes the tables up to `skipped`. A rollback builds the others again."""

    def __init__(self) -> None:
        self.limits: dict[str, LimitRow] = {}
        self.overrides: dict[str, int] = {}
        """The number of a single lane that an operator has set."""
        self.tats: dict[str, Micros] = {}
        self.reservations: dict[str, RateReservation] = {}
        self.counted: dict[str, int] = {}
        """By job: the number of the attempt that its rates have counted."""
        self.skipped: dict[str, bool] = {}
        """Failed jobs that no longer hold their orders."""
        self.lanes_next = False
        self.clear()

    def clear(self) -> None:
        """Forget what follows from the jobs."""
        self.of: dict[str, JobLanes] = {}
        self.tracks = Tracks()
        self.holders: dict[str, dict[str, None]] = defaultdict(dict)
        """By lane: the running jobs that hold it."""
        self._wakes: list[tuple[Micros, str]] = []
        """A heap of (time, lane): when a rate allows another attempt."""
        self._orders: dict[str, dict[int, str]] = defaultdict(dict)
        """By the lane of an order, then by position: the chain."""
        self._positions: dict[str, list[int]] = defaultdict(list)
        """By the lane of an order: a heap of its positions."""
        self._chains: dict[str, dict[str, LaneRule]] = {}
        """By chain: the orders that it holds until it ends."""

    def lane(self, lane: str) -> Lane:
        """The current state of a lane."""
        limit = self.limits[lane.partition(SEPARATOR)[0]]
        number = self.overrides.get(lane, limit.number)
        found = Lane(lane, limit.kind, number, limit.per, limit.burst, self.tats.get(lane, 0))
        found.running, found.front = len(self.holders.get(lane, ())), self.front(lane)
        found.parked = self.tracks.has_parked(lane)
        if reservation := self.reservations.get(lane):
            found.reserved_by, found.reserved_priority, found.reserved_at = reservation
        return found

    def front(self, lane: str) -> str | None:
        """The chain at the front of an order."""
        positions, chains = self._positions.get(lane), self._orders.get(lane)
        if not positions or not chains:
            return None
        while positions[0] not in chains:
            heapq.heappop(positions)
        return chains[positions[0]]

    def changed(self, state: State, before: Record | None, job: Record) -> bool:
        """A job was created or changed. Returns whether it has lanes."""
        retried = before is not None and before.status.finished and not job.status.finished
        if retried:
            self._hold_orders_of_chain(job)
        lanes = self.of.get(job.id)
        if lanes is None:
            lanes = lanes_of(job.details)
            if lanes is None:
                self._update_orders_of_chain(state, job, ())
                return False
            self.of[job.id] = lanes
        if retried:
            state.drop(self.counted, job.id)
            state.drop(self.skipped, job.id)
        for rule in lanes.rules:
            if job.status is Status.RUNNING:
                self.holders[rule.lane][job.id] = None
            elif self.holders[rule.lane].pop(job.id, False) is None:
                self.wake(state, rule.lane)
            if rule.kind == "order":
                self._update_order(state, job, rule)
        self._update_orders_of_chain(state, job, lanes.rules)
        if job.status is Status.PENDING:
            for rule in lanes.rules:
                if rule.name not in self.limits:
                    state.set(self.limits, rule.name, LimitRow(rule.name, rule.kind, rule.number, rule.per, rule.burst))
            self.tracks.add(job, lanes)
        return True

    def removed(self, state: State, job: Record) -> None:
        """A job is about to be deleted."""
        for rule in list(self._chains.get(job.chain_id, {}).values()):
            self._leave_order(state, job, rule)
        lanes = self.of.pop(job.id, None)
        if lanes is None:
            return
        state.drop(self.counted, job.id)
        state.drop(self.skipped, job.id)
        for rule in lanes.rules:
            held = self.holders[rule.lane].pop(job.id, False) is None
            if rule.kind == "order":
                self._leave_order(state, job, rule)
            elif held:
                self.wake(state, rule.lane)

    def refund(self, state: State, job: Record) -> None:
        """A job was released before its handler began: its rates do not count the attempt."""
        lanes = self.of.get(job.id)
        if lanes is None or self.counted.get(job.id) != job.attempt:
            return
        state.drop(self.counted, job.id)
        for rule in lanes.rules:
            lane = self.lane(rule.lane)
            if lane.kind == "rate" and lane.number > 0:
                used = interval(rule.weight, number=lane.number, per=lane.per)
                state.set(self.tats, rule.lane, lane.tat - used)
                self.wake(state, rule.lane)

    def skip(self, state: State, job: Record) -> None:
        """Skip a failed job in its orders."""
        state.set(self.skipped, job.id, True)
        lanes = self.of.get(job.id)
        rules = [*(() if lanes is None else lanes.rules), *self._chains.get(job.chain_id, {}).values()]
        for rule in rules:
            if rule.kind == "order":
                self._leave_order(state, job, rule)

    def held_orders(self, state: State, job: Record) -> list[str]:
        """The lanes of orders in which the job, or its chain, has a place."""
        lanes = self.of.get(job.id)
        rules = [*(() if lanes is None else lanes.rules), *self._chains.get(job.chain_id, {}).values()]
        return [
            rule.lane
            for rule in rules
            if self._position(state, job, rule) in self._orders.get(rule.lane, {})
        ]  # fmt: skip

    def wake(self, state: State, lane: str) -> None:
        """The lane has changed: let claims read as many of its parked tracks as it has room for, of each type."""
        if not self.tracks.has_parked(lane):
            return
        now, found = state.now(), self.lane(lane)
        if found.kind == "order":
            job = self._front_job(state, lane)
            stored = None if job is None else self.tracks.by_id.get(self.of[job.id].track)
            if job is not None and stored is not None and stored.parked == lane and found.free(now):
                self.tracks.make_ready(stored)
                state.hints.due.add(job.type)
            return
        room = found.free(now)
        if room == 0 and found.kind == "rate":
            at = rate_allows_at(found.tat, now, number=found.number, per=found.per, burst=found.burst)
            if at is not None:
                heapq.heappush(self._wakes, (at, lane))
        state.hints.due.update(self.tracks.unpark(lane, room))
        stored = self.tracks.by_id.get(found.reserving(now) or "")
        if stored is not None and stored.parked == lane:
            self.tracks.make_ready(stored)
            state.hints.due.add(stored.track.type)

    def save(self, state: State, lane: Lane) -> None:
        """Write the state of a lane after a claim."""
        if lane.kind != "rate":
            return
        state.set(self.tats, lane.id, lane.tat)
        if lane.reserved_by is not None:
            reservation = RateReservation(lane.reserved_by, lane.reserved_priority, lane.reserved_at)
            state.set(self.reservations, lane.id, reservation)
        elif lane.id in self.reservations:
            state.drop(self.reservations, lane.id)
        if lane.wake_at is not None:
            heapq.heappush(self._wakes, (lane.wake_at, lane.id))

    def wake_due(self, state: State) -> None:
        """Wake the lanes whose time has come."""
        while self._wakes and self._wakes[0][0] <= state.now():
            self.wake(state, heapq.heappop(self._wakes)[1])

    def next_due(self, types: list[str], now: Micros) -> Micros | None:
        """When a claim of these types should read the tracks again."""
        moments = [self._wakes[0][0]] if self._wakes else []
        ready = self.tracks.next_ready(types, now)
        return min([*moments, *([] if ready is None else [ready])], default=None)

    def fill(self, state: State, stored: StoredTrack, number: int) -> None:
        """Put the first due jobs of a track, at most `number`, into `track.jobs`."""
        now, jobs = state.now(), stored.track.jobs
        jobs.clear()
        if stored.order is not None:
            job = self._front_job(state, stored.order)
            if job is not None and self.of[job.id].track == stored.track.id and job.scheduled_at <= now:
                jobs.append(self._waiting_job(job))
            return
        entries: dict[tuple[Micros, int, str], None] = {}
        while stored.waiting and len(entries) < number and stored.waiting[0][0] <= now:
            entry = heapq.heappop(stored.waiting)
            if self._waits_in(state, stored, entry):
                entries[entry] = None
        stored.track.more = bool(stored.waiting) and stored.waiting[0][0] <= now
        for entry in entries:
            jobs.append(self._waiting_job(state.jobs[entry[2]]))
            heapq.heappush(stored.waiting, entry)

    def _waits_in(self, state: State, stored: StoredTrack, entry: tuple[Micros, int, str]) -> bool:
        """Whether an entry of a track is current. A replaced job may be in another track now."""
        lanes = self.of.get(entry[2])
        return lanes is not None and lanes.track == stored.track.id and state.pending_at(*entry)

    def put_back(self, state: State, stored: StoredTrack) -> None:
        """After a claim: make a track ready again, now or when its first job is due, or forget it if it is empty."""
        while stored.waiting and not self._waits_in(state, stored, stored.waiting[0]):
            heapq.heappop(stored.waiting)
        if not stored.waiting:
            self.tracks.remove(stored)
            return
        at = stored.waiting[0][0]
        if stored.order is not None:
            job = self._front_job(state, stored.order)
            if job is None or self.of[job.id].track != stored.track.id:
                self.tracks.park(stored, stored.order)
                return
            at = job.scheduled_at
        if at <= state.now():
            self.tracks.make_ready(stored)
        else:
            self.tracks.make_ready_at(stored, at)

    def _hold_orders_of_chain(self, job: Record) -> None:
        """A retried job continues its chain, which holds the orders of its first job again."""
        first = self.of.get(job.chain_id)
        for rule in () if first is None else first.rules:
            if rule.kind == "order" and rule.chain:
                self._chains.setdefault(job.chain_id, {})[rule.lane] = rule

    def _update_orders_of_chain(self, state: State, job: Record, own: Collection[LaneRule]) -> None:
        """Update the orders that an earlier job of the chain holds until the chain ends."""
        for rule in list(self._chains.get(job.chain_id, {}).values()):
            if all(other.lane != rule.lane for other in own):
                self._update_order(state, job, rule)

    def _update_order(self, state: State, job: Record, rule: LaneRule) -> None:
        if job.status is Status.COMPLETED:
            stays = rule.chain and state.chains[job.chain_id][-1] != job.id
        elif job.status is Status.FAILED:
            stays = rule.hold and job.id not in self.skipped
        else:
            stays = job.status is not Status.CANCELLED
        if not stays:
            self._leave_order(state, job, rule)
            return
        position = self._position(state, job, rule)
        if position not in self._orders[rule.lane]:
            self._orders[rule.lane][position] = job.chain_id
            heapq.heappush(self._positions[rule.lane], position)
        if rule.chain:
            self._chains.setdefault(job.chain_id, {})[rule.lane] = rule
        self.wake(state, rule.lane)

    def _leave_order(self, state: State, job: Record, rule: LaneRule) -> None:
        self._orders[rule.lane].pop(self._position(state, job, rule), None)
        held = self._chains.get(job.chain_id, {})
        if held.pop(rule.lane, None) is not None and not held:
            del self._chains[job.chain_id]
        self.wake(state, rule.lane)
        # The track may wait until the job that has left would have been due.
        front = self._front_job(state, rule.lane)
        stored = None if front is None else self.tracks.by_id.get(self.of[front.id].track)
        if front is not None and stored is not None and stored.parked is None:
            self.tracks.make_ready(stored)
            state.hints.due.add(front.type)

    def _position(self, state: State, job: Record, rule: LaneRule) -> int:
        first = state.jobs.get(job.chain_id) if rule.chain else None
        return job.seq if first is None else first.seq

    def _front_job(self, state: State, lane: str) -> Record | None:
        """The job at the front of an order, if it is pending."""
        chain = self.front(lane)
        job = None if chain is None else state.jobs[state.chains[chain][-1]]
        return job if job is not None and job.status is Status.PENDING and job.id in self.of else None

    def _waiting_job(self, job: Record) -> WaitingJob:
        weights = {rule.lane: rule.weight for rule in self.of[job.id].rules if rule.weight != 1}
        counts = self.counted.get(job.id) != job.attempt + 1
        return WaitingJob(job.seq, job.id, job.chain_id, counts, weights)
