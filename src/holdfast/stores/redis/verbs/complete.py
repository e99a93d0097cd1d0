"""Complete the current job of a chain from outside a worker."""

from __future__ import annotations

from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.engine.operations import Settled
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import accepted, existing, pairs


def lock(op: ops.LockChain) -> ScriptPlan[Record]:
    (reply,) = yield [ScriptCall("lock", op.chain_id, [op.chain_id])]
    (record,) = existing(accepted(reply))
    return record


def complete(op: ops.Complete) -> ScriptPlan[Settled]:
    payloads = Payloads()
    done = [
        (payloads.add(completion.output), completion.continuation and encode.new_job(completion.continuation, payloads))
        for completion in op.completions
    ]
    starts = [encode.new_job(job, payloads) for job in op.starts]
    body = (op.chain_id, op.job_id, done, starts, op.expected, author(op.audit))
    (reply,) = yield [ScriptCall("complete", body, [op.chain_id, op.job_id], payloads)]
    reader = accepted(reply)
    more = reader.next() == b"more"
    unblocked = pairs(list(reader))
    if more:
        unblocked += yield from release()
    return Settled(unblocked=unblocked)
