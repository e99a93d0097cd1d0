"""Settle attempts: write their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.lifecycle import Settlement
from holdfast.engine import operations as ops
from holdfast.engine.operations import WRITTEN, Settled
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan, pipelines
from holdfast.stores.redis.verbs.script_errors import pairs, refusal


def settle(op: ops.Settle) -> ScriptPlan[list[Settled]]:
    """Calls of a hundred settlements. Each settlement is written whole or not at all."""
    settled: list[Settled] = []
    more = False
    for pipeline in pipelines(op.settlements):
        for unfinished, *replies in (yield (_settle_call(batch, resent=op.again) for batch in pipeline)):
            settled += [_settled(each) for each in replies]
            more = more or unfinished == b"more"
    if more and (unblocked := (yield from release())):
        # Any settlement may report these jobs, but only one of them, so that each job is reported once.
        place = next((n for n, each in enumerate(settled) if each.unblocked), 0)
        settled[place] = settled[place]._replace(unblocked=settled[place].unblocked + unblocked)
    return settled


def _settle_call(settlements: Sequence[Settlement], *, resent: bool) -> ScriptCall:
    payloads = Payloads()
    body = [encode.settlement(each, payloads) for each in settlements]
    return ScriptCall("settle", body, [each.claim.job_id for each in settlements], payloads, resent=resent)


def _settled(reply: Any) -> Settled:
    if reply == b"ok":
        return WRITTEN
    outcome, *values = reply
    match outcome:
        case b"ok":
            return Settled(unblocked=pairs(values))
        case b"lost":
            return Settled(lost=values[0].decode())
        case _:
            return Settled(refused=refusal(reply))
