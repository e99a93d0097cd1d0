"""Store and read the steps of jobs, and the messages of chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from holdfast.core.lost_claims import LostReason
from holdfast.core.steps import Checkpoint, StepKind, StepRow
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.decode import Number
from holdfast.stores.redis.verbs.encode import Payloads, number
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan, batches, pipelines
from holdfast.stores.redis.verbs.script_errors import accepted

JOBS_READ = 20
"""Jobs whose steps are read by one call: a job may have many."""


class _Facts(NamedTuple):
    """The facts of a step, in the order of `scripts/shared/steps.lua`."""

    name: str
    each: str
    kind: StepKind
    number: int
    attempt: int
    epoch: int
    started_at: int
    finished_at: int | None
    wake_at: Number | None
    payload: str | None


_facts = msgspec.msgpack.Decoder(_Facts).decode


def save_steps(op: ops.SaveSteps) -> ScriptPlan[list[LostReason | None]]:
    answers: list[LostReason | None] = []
    for pipeline in pipelines(op.checkpoints):
        for reply in (yield [_save_call(batch) for batch in pipeline]):
            answers += [reason.decode() or None for reason in reply]
    return answers


def get_steps(op: ops.GetSteps) -> ScriptPlan[list[list[StepRow]]]:
    found: list[list[StepRow]] = []
    for ids in batches(op.job_ids, JOBS_READ):
        (reply,) = yield [ScriptCall("get_steps", ids, ids)]
        found += [sorted(map(_row, values), key=lambda row: row.number) for values in reply]
    return found


def get_messages(op: ops.GetMessages) -> ScriptPlan[list[bytes | None]]:
    found: list[bytes | None] = []
    for pipeline in pipelines(op.names):
        calls = [ScriptCall("get_messages", names, [chain_id for chain_id, _ in names]) for names in pipeline]
        for reply in (yield calls):
            found += reply
    return found


def send(op: ops.SendMessage) -> ScriptPlan[bool]:
    payloads = Payloads()
    body = (op.chain_id, op.name, payloads.add(op.value), author(op.audit))
    (reply,) = yield [ScriptCall("send", body, [op.chain_id], payloads)]
    return bool(accepted(reply).next() == b"first")


def _save_call(checkpoints: Sequence[Checkpoint]) -> ScriptCall:
    payloads = Payloads()
    body = [_checkpoint(each, payloads) for each in checkpoints]
    return ScriptCall("save_steps", body, [each.claim.job_id for each in checkpoints], payloads)


def _checkpoint(each: Checkpoint, payloads: Payloads) -> tuple[Any, ...]:
    """A checkpoint, in the order of `scripts/save_steps.lua`."""
    stored = payloads.add(each.result), payloads.add(each.error)
    facts = (*each.claim, each.name, each.each, each.kind, each.number, each.attempt, each.epoch)
    return (*facts, *stored, number(each.took), each.done)


def _row(value: bytes) -> StepRow:
    """A step from its stored value."""
    end = 2 + int.from_bytes(value[:2], "big")
    facts, payload = _facts(value[2:end]), value[end:]
    return StepRow(
        *facts[:6],
        payload if facts.payload == "r" else None,
        payload if facts.payload == "e" else None,
        facts.started_at,
        facts.finished_at,
        None if facts.wake_at is None else int(facts.wake_at),
    )
