"""Steps and messages: store checkpoints, suspend jobs, and wake them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.clock import Micros
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Record
from holdfast.core.steps import Checkpoint, RemovedSteps, StepRow, Wait, due_after, removed_from
from holdfast.engine.operations import GetMessages, GetSteps, SaveSteps, SendMessage
from holdfast.errors import AlreadyCompleted, StepNotFound
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import chains
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.verbs.guard import HOLDERS

_SAVE = SQL["step_save"]
_WAIT = SQL["step_wait"]
_GET = SQL["get_steps"]
_DELETE = SQL["steps_delete"]
_DELETE_ONE = SQL["step_delete"]
_SLEEPS_OPEN = SQL["sleeps_open"]
_SLEEPS_END = SQL["sleeps_end"]
_MESSAGE = SQL["get_message"]
_ARRIVED = SQL["message_arrived"]
_MESSAGE_SAVE = SQL["message_save"]
_MESSAGE_WAIT = SQL["message_wait"]
_AWAITED = SQL["messages_awaited"]
_WAITER = SQL["message_waiter"]
_MESSAGE_DELETE = SQL["message_delete"]
_MESSAGES_DELETE = SQL["messages_delete"]
_RUN_NOW = SQL["run_now"]


def save_steps(context: PlanContext, operation: SaveSteps) -> Plan[list[LostReason | None]]:
    ids = {checkpoint.claim.job_id for checkpoint in operation.checkpoints}
    jobs = {id: (status, token) for id, status, token in (yield Statement(HOLDERS, {"ids": as_json(ids)}))}
    answers: list[LostReason | None] = []
    rows: list[Row] = []
    for each in operation.checkpoints:
        status, token = jobs.get(each.claim.job_id, (None, None))
        reason = lost_reason(status, token, each.claim.token)
        answers.append(reason)
        if reason is None and not (each.is_timeout and (yield Statement(_ARRIVED, _receive(each)))):
            row = each.row(context.now)
            rows.append((
                each.claim.job_id, row.name, row.each, row.kind, row.number, row.attempt, row.epoch, row.started_at,
                row.finished_at, row.result, row.error,
            ))  # fmt: skip
    if rows:
        yield Many(_SAVE, rows)
    return answers


def _receive(checkpoint: Checkpoint) -> dict[str, str]:
    return {"job_id": checkpoint.claim.job_id, "name": checkpoint.name}


def get_steps(context: PlanContext, operation: GetSteps) -> Plan[list[list[StepRow]]]:
    found: dict[str, list[StepRow]] = {id: [] for id in operation.job_ids}
    for job_id, *columns in (yield Statement(_GET, {"ids": as_json(found)})):
        found[job_id].append(StepRow(*columns))
    return [found[id] for id in operation.job_ids]


def get_messages(context: PlanContext, operation: GetMessages) -> Plan[list[bytes | None]]:
    values: list[bytes | None] = []
    for chain_id, name in operation.names:
        rows = yield Statement(_MESSAGE, {"chain_id": chain_id, "name": name})
        values.append(rows[0][0] if rows else None)
    return values


def send(context: PlanContext, operation: SendMessage) -> Plan[bool]:
    [chain] = yield from chains.need([operation.chain_id])
    if chain.last.status.finished:
        raise AlreadyCompleted(operation.chain_id)
    message = {"chain_id": operation.chain_id, "name": operation.name}
    [(value, job_id, token)] = (yield Statement(_MESSAGE, message)) or [(None, None, None)]
    if value is not None:
        return False
    yield Statement(_MESSAGE_SAVE, message | {"value": operation.value, "now": context.now})
    yield from write_audit(context, operation.audit, "send", [(operation.chain_id, operation.chain_id)])
    for seq, id, chain_id, type, attempt, _ in (yield Statement(_WAITER, {"job_id": job_id, "token": token})):
        yield Statement(_RUN_NOW, {"seq": seq, "now": context.now})
        context.hints.due.add(type)
        context.record("made_due", id, chain_id, type, attempt)
    return True


def suspend(context: PlanContext, job_id: str, chain_id: str, token: str, waits: Sequence[Wait]) -> Plan[Micros]:
    """Store what a suspended job waits for. Returns when it is due."""
    due = due_after(waits, context.now)
    for wait in waits:
        row = wait.row(context.now)
        columns = ("name", "each", "kind", "number", "attempt", "epoch", "started_at", "wake_at")
        yield Statement(_WAIT, {"job_id": job_id, **{name: getattr(row, name) for name in columns}})
        if wait.kind == "receive":
            message = {"chain_id": chain_id, "name": wait.name}
            rows = yield Statement(_MESSAGE, message)
            if rows and rows[0][0] is not None:
                due = context.now
            else:
                yield Statement(_MESSAGE_WAIT, message | {"job_id": job_id, "token": token})
    return due


def waits_for(job: Record) -> Plan[tuple[str, ...]]:
    """The names of the messages that a suspended job waits for."""
    rows = yield Statement(_AWAITED, {"seq": job.seq})
    return tuple([name for (name,) in rows])


def end_sleeps(context: PlanContext, job: Record) -> Plan[bool]:
    """End the open sleeps of a job. Returns whether it had one."""
    [(sleeps,)] = yield Statement(_SLEEPS_OPEN, {"job_id": job.id})
    if sleeps:
        yield Statement(_SLEEPS_END, {"job_id": job.id, "now": context.now})
    return bool(sleeps)


def removed_steps(context: PlanContext, job: Record, name: str) -> Plan[RemovedSteps]:
    """What a retry from this step removes. StepNotFound if the job has no such step."""
    [rows] = yield from get_steps(context, GetSteps((job.id,)))
    removed = removed_from(rows, name)
    if removed is None:
        raise StepNotFound(job.id, name)
    return removed


def remove_steps(job: Record, removed: RemovedSteps) -> Plan[None]:
    """Delete these steps, and the messages that they received."""
    yield Many(_DELETE_ONE, [{"job_id": job.id, "name": row.name, "each": row.each} for row in removed.steps])
    yield Many(_MESSAGE_DELETE, [{"chain_id": job.chain_id, "name": name} for name in removed.messages])


def remove_all(ids: Sequence[dict[str, Any]], chain_ids: Sequence[str]) -> Plan[None]:
    """Delete the steps of these jobs and the messages of these chains."""
    yield Many(_DELETE, ids)
    yield Many(_MESSAGES_DELETE, [{"chain_id": chain_id} for chain_id in chain_ids])
