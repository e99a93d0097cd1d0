"""Complete a chain's current job from outside."""

from __future__ import annotations

from holdfast import operations as ops
from holdfast.operations import Settled
from holdfast.record import Record
from holdfast.stores.redis import requests
from holdfast.stores.redis.answers import accepted, existing, pairs
from holdfast.stores.redis.call import Asking, Call
from holdfast.stores.redis.releasing import release
from holdfast.stores.redis.requests import Payloads


def lock(op: ops.LockChain) -> Asking[Record]:
    (reply,) = yield [Call("lock", op.chain_id, [op.chain_id])]
    (record,) = existing(accepted(reply))
    return record


def complete(op: ops.Complete) -> Asking[Settled]:
    payloads = Payloads()
    done = [
        (payloads.add(step.output), step.continuation and requests.new_job(step.continuation, payloads))
        for step in op.steps
    ]
    starts = [requests.new_job(job, payloads) for job in op.starts]
    body = (op.chain_id, op.job_id, done, starts, op.expected)
    (reply,) = yield [Call("complete", body, [op.chain_id, op.job_id], payloads)]
    answer = accepted(reply)
    more = answer.next() == b"more"
    unblocked = pairs(list(answer))
    if more:
        unblocked += yield from release()
    return Settled(unblocked=unblocked)
