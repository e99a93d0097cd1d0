"""Steps and messages: store checkpoints, suspend jobs, and wake them."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import NOT_HELD, Record, Status
from holdfast.core.steps import RemovedSteps, StepRow, due_after, removed_from
from holdfast.engine.operations import GetMessages, GetSteps, LostReason, SaveSteps, SendMessage
from holdfast.errors import AlreadyCompleted, StepNotFound
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit

K = TypeVar("K")
V = TypeVar("V")


class Message(NamedTuple):
    """A message of a chain. Without a value: the job that waits for it, and the token of the claim that ended."""

    value: bytes | None
    sent_at: Micros | None = None
    job_id: str | None = None
    token: str | None = None


def save_steps(state: State, op: SaveSteps) -> list[LostReason | None]:
    now = state.now()
    answers: list[LostReason | None] = []
    for checkpoint in op.checkpoints:
        job_id, token = checkpoint.claim
        job = state.jobs.get(job_id)
        reason = state.lost(job, token)
        if job is not None and checkpoint.is_timeout and _value(state, job.chain_id, checkpoint.name) is not None:
            answers.append(reason)
            continue
        before = state.steps.get(job_id, {}).get((checkpoint.name, checkpoint.each))
        if reason is None and (before is None or before.is_replaced_by(checkpoint.number)):
            state.set(_table(state, state.steps, job_id), (checkpoint.name, checkpoint.each), checkpoint.row(now))
        answers.append(reason)
    return answers


def get_steps(state: State, op: GetSteps) -> list[list[StepRow]]:
    return [sorted(state.steps.get(id, {}).values(), key=lambda row: row.number) for id in op.job_ids]


def get_messages(state: State, op: GetMessages) -> list[bytes | None]:
    return [_value(state, chain_id, name) for chain_id, name in op.names]


def send(state: State, op: SendMessage) -> bool:
    if state.need_chain(op.chain_id).last.status.finished:
        raise AlreadyCompleted(op.chain_id)
    messages, now = _table(state, state.messages, op.chain_id), state.now()
    waiting = messages.get(op.name)
    if waiting is not None and waiting.value is not None:
        return False
    state.set(messages, op.name, Message(op.value, now))
    write_audit(state, op.audit, "send", [(op.chain_id, op.chain_id)])
    job = None if waiting is None or waiting.job_id is None else state.jobs.get(waiting.job_id)
    if job is not None and waiting is not None and _is_current(job, waiting):
        state.change(job, "made_due", scheduled_at=min(job.scheduled_at, now))
    return True


def suspend(state: State, job: Record, settlement: Settlement, now: Micros) -> None:
    """Return a job to pending until one of its waits ends."""
    due, steps = due_after(settlement.waits, now), _table(state, state.steps, job.id)
    for wait in settlement.waits:
        if (wait.name, wait.each) not in steps:
            state.set(steps, (wait.name, wait.each), wait.row(now))
        if wait.kind == "receive":
            messages = _table(state, state.messages, job.chain_id)
            message = messages.get(wait.name)
            if message is not None and message.value is not None:
                due = now
            else:
                state.set(messages, wait.name, Message(None, None, job.id, settlement.claim.token))
    state.end_attempt(job, "suspended", None, due)
    changes = NOT_HELD | {"status": Status.PENDING, "token": settlement.claim.token, "attempt": job.attempt - 1}
    state.change(job, "suspended", **changes, error=None, scheduled_at=due)


def waits_for(state: State, job: Record) -> tuple[str, ...]:
    """The names of the messages that a suspended job waits for."""
    waiting = state.messages.get(job.chain_id, {}).items()
    return tuple(sorted(name for name, message in waiting if message.value is None and _is_current(job, message)))


def end_sleeps(state: State, job: Record, now: Micros) -> bool:
    """End the open sleeps of a job. Returns whether it had one."""
    steps = state.steps.get(job.id, {})
    ended = [key for key, row in steps.items() if row.kind == "sleep" and row.finished_at is None]
    for key in ended:
        state.set(steps, key, replace(steps[key], finished_at=now))
    return bool(ended)


def removed_steps(state: State, job: Record, name: str) -> RemovedSteps:
    """What a retry from this step removes. StepNotFound if the job has no such step."""
    removed = removed_from(list(state.steps.get(job.id, {}).values()), name)
    if removed is None:
        raise StepNotFound(job.id, name)
    return removed


def remove_steps(state: State, job: Record, removed: RemovedSteps) -> None:
    """Delete these steps, and the messages that they received."""
    for row in removed.steps:
        state.drop(state.steps[job.id], (row.name, row.each))
    for name in removed.messages:
        if name in state.messages.get(job.chain_id, {}):
            state.drop(state.messages[job.chain_id], name)


def _value(state: State, chain_id: str, name: str) -> bytes | None:
    message = state.messages.get(chain_id, {}).get(name)
    return None if message is None else message.value


def _table(state: State, tables: dict[str, dict[K, V]], id: str) -> dict[K, V]:
    """The table of a job or chain. It is added if it does not exist."""
    if id not in tables:
        state.set(tables, id, {})
    return tables[id]


def _is_current(job: Record, message: Message) -> bool:
    """Whether the job has been suspended with this wait, and has not been claimed since."""
    return job.status is Status.PENDING and (job.id, job.token) == (message.job_id, message.token)
