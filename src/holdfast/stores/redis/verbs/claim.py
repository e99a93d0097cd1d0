"""Claim jobs, hold them, settle them, and take back those whose worker is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Claim, Record
from holdfast.engine import operations as ops
from holdfast.engine.operations import Settled
from holdfast.errors import ClaimLost
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import Answer
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import STEP, Asking, Call, bursts
from holdfast.stores.redis.verbs.script_errors import existing, pairs, refusal


def claim(op: ops.ClaimJobs) -> Asking[list[Record]]:
    claimed: list[Record] = []
    terms = [(each.type, encode.number(each.lease), encode.number(each.max_attempts)) for each in op.types]
    while len(claimed) < op.limit:
        size = min(STEP, op.limit - len(claimed))
        fresh = not (op.again and claimed)
        (reply,) = yield [Call("claim", (terms, size, op.worker, op.token, len(claimed), fresh))]
        records = list(existing(Answer(reply)))
        claimed += records
        if len(records) < size:
            break
    return claimed


def renew(op: ops.Renew) -> Asking[dict[Claim, ops.LostReason]]:
    lost: dict[Claim, ops.LostReason] = {}
    for burst in bursts(op.claims):
        calls = [
            Call(
                "renew",
                [(*held, encode.number(lease)) for held, lease in claims],
                [held.job_id for held, _ in claims],
            )
            for claims in burst
        ]
        for claims, reply in zip(burst, (yield calls), strict=True):
            values = iter(reply)
            for place, reason in zip(values, values, strict=True):
                lost[claims[int(place) - 1][0]] = reason.decode()
    return lost


def settle(op: ops.Settle) -> Asking[list[Settled]]:
    """In steps of a hundred, each all or nothing for each of its settlements."""
    settled: list[Settled] = []
    more = False
    for burst in bursts(op.settlements):
        for word, *replies in (yield (_settling(step, again=op.again) for step in burst)):
            settled += [_settled(each) for each in replies]
            more = more or word == b"more"
    if more and (unblocked := (yield from release())):
        # Whose they are does not matter to anybody; that they are told of once does.
        place = next((n for n, each in enumerate(settled) if each.unblocked), 0)
        settled[place] = settled[place]._replace(unblocked=settled[place].unblocked + unblocked)
    return settled


def _settling(settlements: Sequence[Settlement], *, again: bool) -> Call:
    payloads = Payloads()
    body = [encode.settlement(each, payloads) for each in settlements]
    return Call("settle", body, [each.claim.job_id for each in settlements], payloads, again=again)


_WRITTEN = Settled()


def _settled(reply: Any) -> Settled:
    if reply == b"ok":
        return _WRITTEN
    word, *values = reply
    match word:
        case b"ok":
            return Settled(unblocked=pairs(values))
        case b"lost":
            return Settled(lost=values[0].decode())
        case _:
            return Settled(refused=refusal(reply))


def guard(op: ops.Guard) -> Asking[None]:
    (reason,) = yield [Call("guard", op.claim, [op.claim.job_id])]
    if reason is not None:
        raise ClaimLost(op.claim.job_id, reason.decode())


def progress(op: ops.ReportProgress) -> Asking[ops.LostReason | None]:
    (reason,) = yield [Call("progress", (*op.claim, repr(op.fraction), op.note), [op.claim.job_id])]
    return None if reason is None else reason.decode()


def reap(op: ops.Reap) -> Asking[list[ops.Reaped]]:
    """Also goes on with the releases that somebody left undone."""
    reaped: list[ops.Reaped] = []
    while len(reaped) < op.limit:
        size = min(STEP, op.limit - len(reaped))
        (reply,) = yield [Call("reap", (op.types, op.held, size))]
        answer = Answer(reply)
        more = answer.next() == b"more"
        before = len(reaped)
        for worker in answer:
            record = answer.job()
            assert record is not None, "reaping removes nothing"
            reaped.append(ops.Reaped(record, worker.decode() or None))
        if more:
            yield from release()
        if len(reaped) - before < size:
            break
    return reaped
