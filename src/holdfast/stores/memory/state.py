"""The changes of the tables of the memory store. Every change of a record goes through this module."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Any

import msgspec

from holdfast.core.clock import Micros, system_clock
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import EventRow, PastAttempt
from holdfast.errors import ChainNotFound, JobNotFound, NotPending
from holdfast.stores.memory.rollback import RollbackTables

EVENTS_KEPT = 10_000


class State(RollbackTables):
    """The tables, their indexes, and what a change of a record means for them."""

    def now(self) -> Micros:
        return (self.clock or system_clock)()

    def chain(self, chain_id: str) -> ChainRecord | None:
        ids = self.chains.get(chain_id)
        return None if ids is None else ChainRecord(self.jobs[ids[0]], self.jobs[ids[-1]])

    def need_chain(self, chain_id: str) -> ChainRecord:
        chain = self.chain(chain_id)
        if chain is None:
            raise ChainNotFound(chain_id)
        return chain

    def jobs_with_status(self, ids: tuple[str, ...], statuses: tuple[Status, ...], wanted: str) -> list[Record]:
        """These jobs. JobNotFound if one does not exist, NotPending if one has another status."""
        for job_id in ids:
            if job_id not in self.jobs:
                raise JobNotFound(job_id)
        jobs = [self.jobs[job_id] for job_id in ids]
        for job in jobs:
            if job.status not in statuses:
                raise NotPending(job.id, job.status, wanted)
        return jobs

    def waiting_for(self, chain_id: str, besides: set[str]) -> list[Record]:
        """Unfinished jobs that name the chain as a blocker, except jobs of the chains `besides`."""
        jobs = [self.jobs[job_id] for job_id in dict.fromkeys(self.dependents.get(chain_id, ()))]
        return [job for job in jobs if not job.status.finished and job.chain_id not in besides]

    def expiry(self, chain_id: str) -> Micros | None:
        """When a finished chain may be pruned."""
        chain = self.chain(chain_id)
        if chain is None or chain.last.finished_at is None or chain.last.keep is None:
            return None
        return chain.last.finished_at + chain.last.keep

    def expired(self, chain: ChainRecord) -> bool:
        """Whether the keep time of a chain is over, whether it is pruned or not."""
        expiry = self.expiry(chain.first.id)
        return expiry is not None and expiry <= self.now()

    def _rebuild(self) -> None:
        """Rebuild the indexes that the undo log does not cover."""
        due: dict[str, list[tuple[int, Micros, int, str]]] = defaultdict(list)
        scheduled: dict[str, list[tuple[Micros, int, str]]] = defaultdict(list)
        running: dict[str, None] = {}
        self.lanes.clear()
        for job in sorted(self.jobs.values(), key=lambda job: job.seq):
            if self.lanes.changed(self, None, job) and job.status is Status.PENDING:
                continue
            if job.status is Status.RUNNING:
                running[job.id] = None
            elif job.status is Status.PENDING and job.scheduled_at == job.created_at:
                due[job.type].append((-job.priority, job.scheduled_at, job.seq, job.id))
            elif job.status is Status.PENDING:
                scheduled[job.type].append((job.scheduled_at, job.seq, job.id))
        for ranked in due.values():
            heapq.heapify(ranked)
        for timed in scheduled.values():
            heapq.heapify(timed)
        expiries = ((self.expiry(chain_id), chain_id) for chain_id in self.chains)
        self.expiring = sorted((at, chain_id) for at, chain_id in expiries if at is not None)
        self.events = [event for event in self.events if event.job_id in self.jobs or event.kind == "deleted"]
        self.due, self.scheduled, self.running = due, scheduled, running

    def change(self, record: Record, kind: str, /, **changes: Any) -> Record:
        """Change fields of a record, and record an event of this kind."""
        record = msgspec.structs.replace(record, **changes)
        self.put(record, kind)
        return record

    def put(self, record: Record, kind: str) -> None:
        """Store a record, update the indexes and hints, and record an event."""
        jobs, job_id, status = self.jobs, record.id, record.status
        before = jobs.get(job_id)
        self.undo += (jobs, job_id, before)
        jobs[job_id] = record
        has_lanes = (record.details is not None or self.lanes.of) and self.lanes.changed(self, before, record)
        if status is Status.RUNNING:
            self.running[job_id] = None
        else:
            if before is not None:
                self.running.pop(job_id, None)
            if status is Status.PENDING:
                due, type = record.scheduled_at, record.type
                if has_lanes:
                    pass  # it waits in its track
                elif due == record.created_at:  # due since its creation
                    heapq.heappush(self.due[type], (-record.priority, due, record.seq, job_id))
                else:
                    heapq.heappush(self.scheduled[type], (due, record.seq, job_id))
                self.hints.due.add(type)
            elif status.finished and self.chains[chain_id := record.chain_id][-1] == job_id:
                self.hints.finished.add(chain_id)
                if (ended := record.finished_at) is not None and (keep := record.keep) is not None:
                    heapq.heappush(self.expiring, (ended + keep, chain_id))
        if self.listeners:
            self.record(record, kind)

    def record(self, record: Record, kind: str, worker: str | None = None) -> None:
        """Record an event, if there is a listener."""
        if self.listeners and max(self.listeners.values()) > self.now():
            self.event_seq += 1
            about = (record.id, record.chain_id, record.type, record.attempt, worker or record.worker)
            self.events.append(EventRow(self.event_seq, self.now(), kind, *about))
            del self.events[:-EVENTS_KEPT]
            self.hints.recorded = True

    def next_due(self, type: str) -> Micros | None:
        """When the first pending job of a type is due."""
        if due := self.due_heap(type):
            return due[0][1]
        scheduled = self.scheduled[type]
        while scheduled and not (self.pending_at(*scheduled[0]) and scheduled[0][2] not in self.lanes.of):
            heapq.heappop(scheduled)
        return scheduled[0][0] if scheduled else None

    def due_heap(self, type: str) -> list[tuple[int, Micros, int, str]]:
        """The due heap of a type, without outdated entries at its head."""
        heap = self.due[type]
        while heap:
            rank, at, seq, job_id = heap[0]
            # A replaced job may have lanes now, or another priority. Without a call of `pending_at`: every claimed job
            # is checked here.
            job = self.jobs.get(job_id)
            if (
                job is not None
                and job.status is Status.PENDING
                and job.seq == seq
                and job.scheduled_at == at
                and job.priority == -rank
                and job_id not in self.lanes.of
            ):
                break
            heapq.heappop(heap)
        return heap

    def pending_at(self, at: Micros, seq: int, job_id: str) -> bool:
        """Whether an entry of a heap is current. The seq is compared too: another job may have the id now."""
        job = self.jobs.get(job_id)
        return job is not None and job.status is Status.PENDING and job.scheduled_at == at and job.seq == seq

    def end_attempt(self, record: Record, outcome: str, error: bytes | None, next_at: Micros | None = None) -> None:
        """Add an attempt that did not complete its job to the history."""
        past = PastAttempt(record.attempt, record.worker, record.started_at, self.now(), outcome, error, next_at)
        self.append(self.history, record.id, past)

    def lost(self, record: Record | None, token: str) -> LostReason | None:
        """Why a claim is lost; None while it is valid."""
        return "not_found" if record is None else lost_reason(record.status, record.token, token)

    def remove_chain(self, chain_id: str) -> None:
        """Delete a chain with its jobs, keys, dependencies and history."""
        ids = self.chains[chain_id]
        # While all jobs of the chain exist: the position of an order that spans the chain is that of its first job.
        for job_id in ids:
            self.lanes.removed(self, self.jobs[job_id])
        self.drop(self.chains, chain_id)
        first = self.jobs[ids[0]]
        if first.key is not None:
            name = first.type, first.key
            self.set(self.keys, name, [other for other in self.keys[name] if other != chain_id])
        for job_id in ids:
            job = self.jobs[job_id]
            self.drop(self.jobs, job_id)
            if self.running.pop(job_id, False) is None:
                self.hints.lost.add(job_id)
            for blocker in self.drop(self.blockers, job_id) or ():
                self.set(self.dependents, blocker, [other for other in self.dependents[blocker] if other != job_id])
            self.drop(self.history, job_id)
            self.drop(self.fingerprints, job_id)
            self.drop(self.debounced, job_id)
            self.record(job, "deleted")
        self.remove_steps(chain_id, ids)
        for job_id in self.drop(self.dependents, chain_id) or ():
            self.set(self.blockers, job_id, tuple(chain for chain in self.blockers[job_id] if chain != chain_id))
        self.hints.finished.add(chain_id)

    def remove_steps(self, chain_id: str, job_ids: list[str]) -> None:
        """Delete the steps and messages of a chain with these jobs."""
        for job_id in job_ids:
            if job_id in self.steps:
                self.drop(self.steps, job_id)
        if chain_id in self.messages:
            self.drop(self.messages, chain_id)
