"""Settle: write the outcomes of attempts. Each write requires that the claim is still held."""

from __future__ import annotations

import sqlite3
from itertools import chain

from holdfast.core.clock import Micros
from holdfast.core.counters import CounterChange, settled_together
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.lost_claims import lost_reason
from holdfast.core.record import Status
from holdfast.engine.operations import WRITTEN, Settle, Settled
from holdfast.stores.sql.listing import filled
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import blockers, insert
from holdfast.stores.sqlite.verbs.counters import append
from holdfast.stores.sqlite.verbs.settle_one import (
    COMPLETED,
    COMPLETED_LANES,
    KEEP,
    ClaimedJob,
    settle_one,
)

_CLAIMS = SQL["settle_claims"]
_ONE_CLAIM = filled(_CLAIMS, "in (select value from json_each(:ids))", "= :id")
"""The same for one job. Without a list it takes half of the time."""
_CHUNK = 32
"""Rows in one statement. Larger chunks are hardly faster, and leave more rows to be written one by one."""
HAS_UPDATE_FROM = sqlite3.sqlite_version_info >= (3, 33)
"""Older libraries write one row at a time."""
_ROW = "(?, ?, ?, ?)"
_COMPLETED_CHUNK = filled(SQL["settle_completed_many"], _ROW, ", ".join([_ROW] * _CHUNK))
_LANES_FREED = SQL["lanes_freed"]
_PARKED_TYPES = SQL["parked_types"]
_ORDERS_LEFT = SQL["orders_left"]


class _Completions:
    """Completions that are written together, several hundred with a few statements."""

    def __init__(self, answers: list[Settled]) -> None:
        self._answers = answers
        self._awaited: dict[str, int] = {}
        """The ended chains that other jobs may wait for, and the positions of their answers."""
        self._ending: list[Row] = []
        self._continuing: list[Row] = []
        """Output, begin of the attempt, seq and token of the jobs whose chains end, and of the others."""
        self._kept: list[Row] = []
        self._counted: list[ClaimedJob] = []
        self._continuations: list[NewJob] = []
        self._with_triggers = False

    def add(self, context: PlanContext, job: ClaimedJob, settlement: Settlement) -> None:
        next_job = settlement.continuation
        self._counted.append(job)
        row = (settlement.output, job.started_at, job.seq, job.token)
        if next_job is None:
            self._ending.append(row)
            context.hints.finished.add(chain_id := job.chain_id)
            if job.may_be_awaited:
                self._awaited[chain_id] = len(self._answers)
        else:
            self._continuing.append(row)
            self._continuations.append(next_job)
        if job.has_lanes:
            # The triggers decide whether a chain that continues keeps its order.
            self._with_triggers |= job.lane is None or (bool(job.ordered) and next_job is not None)
        if settlement.keep is not None:
            self._kept.append((settlement.keep, job.seq, job.token))

    def flush(self, context: PlanContext) -> Plan[None]:
        if self._continuations:
            seq = yield from insert.last_seq()
            rows = [insert.row(context, job, seq) for seq, job in enumerate(self._continuations, seq + 1)]
            yield from insert.add_plain(context, self._continuations, rows)
        if self._kept:
            yield Many(KEEP, self._kept)
        if self._counted:
            yield from self._complete(self._ending, context.now, context.now)
            yield from self._complete(self._continuing, context.now, None)
            if not self._with_triggers and (lanes := [job.lane for job in self._counted if job.lane is not None]):
                yield from _free(context, lanes)
                if chains := [job.chain_id for job in self._counted if job.ordered]:
                    yield Statement(_ORDERS_LEFT, {"chains": as_json(chains)})
            # Written here and not with the other changes of the operation: this is part of every settlement.
            yield append(self._changes(context.now))
        if self._awaited:
            for chain_id, jobs in (yield from blockers.completed(context, list(self._awaited))).items():
                self._answers[self._awaited[chain_id]] = Settled(unblocked=tuple(jobs))
            self._awaited = {}
        self._ending, self._continuing, self._kept, self._counted, self._continuations = [], [], [], [], []
        self._with_triggers = False

    def _complete(self, jobs: list[Row], now: Micros, ended: Micros | None) -> Plan[None]:
        whole = 0
        if HAS_UPDATE_FROM and not self._with_triggers:
            whole = len(jobs) - len(jobs) % _CHUNK
            for at in range(0, whole, _CHUNK):
                yield Statement(_COMPLETED_CHUNK, (*chain.from_iterable(jobs[at : at + _CHUNK]), now, ended))
        if whole < len(jobs):
            rows = [(output, began, now, ended, seq, token) for output, began, seq, token in jobs[whole:]]
            yield Many(COMPLETED_LANES if self._with_triggers else COMPLETED, rows)

    def _changes(self, now: Micros) -> list[CounterChange]:
        jobs = self._counted
        types = {job.type for job in jobs}
        by_type = {types.pop(): jobs} if len(types) == 1 else {t: [job for job in jobs if job.type == t] for t in types}
        return [
            settled_together(type, "completed", now, [(job.scheduled_at, job.started_at or now) for job in same])
            for type, same in by_type.items()
        ]


def settle(context: PlanContext, operation: Settle) -> Plan[list[Settled]]:
    """The statement that reads the claims also reads whether a listener is registered."""
    ids = [settlement.claim.job_id for settlement in operation.settlements]
    if len(ids) == 1:
        rows = yield Statement(_ONE_CLAIM, {"id": ids[0], "now": context.now})
    else:
        rows = yield Statement(_CLAIMS, {"ids": as_json(ids), "now": context.now})
    jobs = {row[0]: ClaimedJob._make(row) for row in rows}  # takes half of the time of `ClaimedJob(*row)`
    context.listening = bool(rows and rows[0][-1])
    settled: dict[str, Status] = {}
    answers: list[Settled] = []
    together = _Completions(answers)
    may_be_awaited = False
    for settlement in operation.settlements:
        job_id, token = settlement.claim
        job = jobs.get(job_id)
        if job is None or job.status != "running" or job.token != token or job_id in settled:
            answers.append(_refused(job, settlement, settled.get(job_id)))
            continue
        if settlement.ahead and job.started_at is not None:
            job = job._replace(started_at=job.started_at + settlement.ahead)
        if not may_be_awaited and _can_be_written_together(context, settlement):
            together.add(context, job, settlement)
            answer = WRITTEN
        else:
            yield from together.flush(context)
            answer = yield from settle_one(context, job, settlement)
            # It may have created jobs that wait for the chains of the next settlements.
            next_job = settlement.continuation
            may_be_awaited |= bool(settlement.starts or (next_job is not None and next_job.after))
        if answer.refused is None:
            settled[job_id] = settlement.status
        answers.append(answer)
    yield from together.flush(context)
    return answers


def _free(context: PlanContext, lanes: list[str]) -> Plan[None]:
    """Record that these lanes have room, and wake workers of the types whose jobs wait for them.

    Not of lanes where no track is parked: no job waits for them. Under the write lock no claim can park one now.
    """
    if parked := (yield Statement(_PARKED_TYPES, {"lanes": as_json(lanes)})):
        yield Statement(_LANES_FREED, {"lanes": as_json({lane for lane, _ in parked})})
        context.hints.due.update(type for _, type in parked)


def _refused(job: ClaimedJob | None, settlement: Settlement, settled: Status | None) -> Settled:
    """The result for a claim that is no longer held: lost, or written if the same settlement was stored before."""
    if job is None:
        return Settled(lost="not_found")
    status = settled or job.status
    if (job.token, status) == (settlement.claim.token, settlement.status):
        return WRITTEN
    return Settled(lost=lost_reason(status, job.token, settlement.claim.token))


def _can_be_written_together(context: PlanContext, settlement: Settlement) -> bool:
    """Whether a settlement can be written together with others. With a listener, events must be in the order given."""
    next_job = settlement.continuation
    return (
        settlement.status is Status.COMPLETED
        and not settlement.starts
        and not context.listening
        and (next_job is None or not next_job.after)
    )
