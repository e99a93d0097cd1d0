"""Store and read the steps of jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from holdfast.core.details import next_epoch
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.steps import Checkpoint, RemovedSteps, StepRow, removed_from
from holdfast.engine.operations import GetSteps, SaveSteps
from holdfast.errors import StepNotFound
from holdfast.stores.postgres.plan import Begin, Commit, Plan, ReleaseSavepoint, RollbackToSavepoint, Savepoint
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.messages import remove_messages
from holdfast.stores.sql.plan import Statement

_SAVE = SQL["save_steps"]
_WAIT = SQL["save_steps_wait"]
_TIMEOUT = SQL["receive_timeout"]
_GET = SQL["get_steps"]
_END_SLEEPS = SQL["end_sleeps"]
_REMOVE = SQL["remove_steps"]
_DETAILS = SQL["details"]
_SET_EPOCH = SQL["set_epoch"]


def save_steps(context: PlanContext, op: SaveSteps) -> Plan[list[LostReason | None]]:
    left: list[Checkpoint] = _last_of_each(op.checkpoints)
    states: dict[str, tuple[str | None, str | None]] = {}
    timeouts = [each for each in left if each.is_timeout]
    left = [each for each in left if not each.is_timeout] if timeouts else left
    waiting_for: str | None = None
    while left:
        rows = yield _save(context, left)
        if waiting_for is not None:
            yield Commit()
        states |= {id: (status, token) for id, status, token in rows}
        left = [each for each in left if each.claim.job_id not in states]
        # Another transaction holds the remaining jobs. While one of them is waited for, no other one is locked.
        while left:
            waiting_for = left[0].claim.job_id
            yield Begin()
            if (yield Statement(_WAIT, {"id": waiting_for})):
                break
            yield Commit()
            left = [each for each in left if each.claim.job_id != waiting_for]
    for each in timeouts:  # written last, because an uncommitted message can delay a timeout
        states[each.claim.job_id] = yield from _save_timeout(context, each)
    answers: list[LostReason | None] = []
    for each in op.checkpoints:
        status, token = states.get(each.claim.job_id, (None, None))
        answers.append(lost_reason(status, token, each.claim.token))
    return answers


class _WaitingJob(NamedTuple):
    """A row of `receive_timeout`. Without a row, the job does not exist."""

    status: str | None = None
    token: str | None = None
    has_no_message: bool = False


def _save_timeout(context: PlanContext, timeout: Checkpoint) -> Plan[tuple[str | None, str | None]]:
    """Store the timeout of a receive, unless the message has a value. Returns status and token of the job.

    The message is locked first, and then the job if it is free: neither lock is waited for while the other is held.
    """
    job_id, token = timeout.claim
    state: tuple[str | None, str | None] = (None, None)
    yield Begin()
    while True:
        yield Savepoint()
        rows = yield Statement(_TIMEOUT, {"id": job_id, "token": token, "name": timeout.name})
        waiting = _WaitingJob(*rows[0]) if rows else _WaitingJob()
        if not waiting.has_no_message:
            state = (waiting.status, waiting.token)
            break
        if saved := (yield _save(context, [timeout])):
            [(_, status, current)] = saved
            state = (status, current)
            break
        yield RollbackToSavepoint()
        yield Statement(_WAIT, {"id": job_id})
        yield RollbackToSavepoint()
    yield ReleaseSavepoint()
    yield Commit()
    return state


def get_steps(context: PlanContext, op: GetSteps) -> Plan[list[list[StepRow]]]:
    found = yield from _read(op.job_ids)
    return [found[job_id] for job_id in op.job_ids]


def end_sleeps(context: PlanContext, job_ids: Collection[str]) -> Plan[set[str]]:
    """End the open sleeps of these locked pending jobs. Returns the jobs that had one."""
    return {id for (id,) in (yield Statement(_END_SLEEPS, {"ids": list(job_ids), "now": context.now}))}


def removed_steps(job_ids: Iterable[str], name: str) -> Plan[dict[str, RemovedSteps]]:
    """What a retry from this step removes, per job. Raises StepNotFound for the first job without such a step."""
    removed: dict[str, RemovedSteps] = {}
    for job_id, rows in (yield from _read(job_ids)).items():
        found = removed_from(rows, name)
        if found is None:
            raise StepNotFound(job_id, name)
        removed[job_id] = found
    return removed


def remove_steps(chain_ids: dict[str, str], removed: dict[str, RemovedSteps]) -> Plan[None]:
    """Delete these steps of locked jobs and the messages that they received, and increase the epochs of the jobs."""
    details: dict[str, str | None] = dict((yield Statement(_DETAILS, {"ids": list(removed)})))
    for job_id, found in removed.items():
        yield Statement(_REMOVE, {"id": job_id, "numbers": [row.number for row in found.steps]})
        yield from remove_messages(chain_ids[job_id], found.messages)
        yield Statement(_SET_EPOCH, {"id": job_id, "details": next_epoch(details[job_id])})


def _read(job_ids: Iterable[str]) -> Plan[dict[str, list[StepRow]]]:
    found: dict[str, list[StepRow]] = {job_id: [] for job_id in job_ids}
    for job_id, *columns in (yield Statement(_GET, {"ids": list(found)})):
        found[job_id].append(StepRow(*columns))
    return found


def _save(context: PlanContext, checkpoints: Collection[Checkpoint]) -> Statement:
    return Statement(
        _SAVE,
        {
            "now": context.clock,
            "ids": [each.claim.job_id for each in checkpoints],
            "tokens": [each.claim.token for each in checkpoints],
            "names": [each.name for each in checkpoints],
            "eaches": [each.each for each in checkpoints],
            "kinds": [each.kind for each in checkpoints],
            "numbers": [each.number for each in checkpoints],
            "attempts": [each.attempt for each in checkpoints],
            "epochs": [each.epoch for each in checkpoints],
            "results": [each.result for each in checkpoints],
            "errors": [each.error for each in checkpoints],
            "durations": [each.took for each in checkpoints],
            "done": [each.done for each in checkpoints],
        },
    )


def _last_of_each(checkpoints: Collection[Checkpoint]) -> list[Checkpoint]:
    """The last or final checkpoint of each claim and step: one statement can write a row only once."""
    if len(checkpoints) == 1:
        return list(checkpoints)
    last: dict[tuple[str, str, str, str], Checkpoint] = {}
    for each in checkpoints:
        key = (each.claim.job_id, each.claim.token, each.name, each.each)
        before = last.get(key)
        if before is None or not before.row(0).final:
            last[key] = each
    return list(last.values())
