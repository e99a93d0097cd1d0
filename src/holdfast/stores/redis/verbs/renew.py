"""Keep a claim: renew leases, check a claim, report progress."""

from __future__ import annotations

from holdfast.core.record import Claim
from holdfast.engine import operations as ops
from holdfast.errors import ClaimLost
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan, pipelines


def renew(op: ops.Renew) -> ScriptPlan[dict[Claim, ops.LostReason]]:
    lost: dict[Claim, ops.LostReason] = {}
    for pipeline in pipelines(op.claims):
        calls = [
            ScriptCall(
                "renew",
                [(*held, encode.number(lease)) for held, lease in claims],
                [held.job_id for held, _ in claims],
            )
            for claims in pipeline
        ]
        for claims, reply in zip(pipeline, (yield calls), strict=True):
            values = iter(reply)
            for number, reason in zip(values, values, strict=True):
                lost[claims[int(number) - 1][0]] = reason.decode()
    return lost


def guard(op: ops.Guard) -> ScriptPlan[None]:
    (reason,) = yield [ScriptCall("guard", op.claim, [op.claim.job_id])]
    if reason is not None:
        raise ClaimLost(op.claim.job_id, reason.decode())


def progress(op: ops.ReportProgress) -> ScriptPlan[ops.LostReason | None]:
    (reason,) = yield [ScriptCall("progress", (*op.claim, repr(op.fraction), op.note), [op.claim.job_id])]
    return None if reason is None else reason.decode()
