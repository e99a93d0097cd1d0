"""Store the logs of running attempts."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan, pipelines


def save_logs(op: ops.SaveLogs) -> ScriptPlan[None]:
    for pipeline in pipelines(op.logs):
        yield [_call(logs) for logs in pipeline]


def _call(logs: Sequence[ops.AttemptLog]) -> ScriptCall:
    payloads = Payloads()
    body = [(*each.claim, payloads.add(each.log)) for each in logs]
    return ScriptCall("save_logs", (ops.LOG, body), [each.claim.job_id for each in logs], payloads)
