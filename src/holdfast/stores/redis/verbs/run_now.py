"""Make pending jobs due now."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.all_or_none import all_or_none
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import existing


def run_now(op: ops.RunNow) -> ScriptPlan[list[Record]]:
    def call(ids: Sequence[str], check_only: bool) -> ScriptCall:
        return ScriptCall("run_now", (ids, check_only, author(op.audit)), ids)

    done = yield from all_or_none(op.job_ids, call, wanted="pending")
    return [job for _, reader in done for job in existing(reader)]
