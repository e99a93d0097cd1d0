"""Complete a chain's current job from outside."""

from __future__ import annotations

from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.engine.operations import Settled
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import Asking, Call
from holdfast.stores.redis.verbs.script_errors import accepted, existing, pairs


def lock(op: ops.LockChain) -> Asking[Record]:
    (reply,) = yield [Call("lock", op.chain_id, [op.chain_id])]
    (record,) = existing(accepted(reply))
    return record


def complete(op: ops.Complete) -> Asking[Settled]:
    payloads = Payloads()
    done = [
        (payloads.add(completion.output), completion.continuation and encode.new_job(completion.continuation, payloads))
        for completion in op.completions
    ]
    starts = [encode.new_job(job, payloads) for job in op.starts]
    body = (op.chain_id, op.job_id, done, starts, op.expected)
    (reply,) = yield [Call("complete", body, [op.chain_id, op.job_id], payloads)]
    answer = accepted(reply)
    more = answer.next() == b"more"
    unblocked = pairs(list(answer))
    if more:
        unblocked += yield from release()
    return Settled(unblocked=unblocked)
