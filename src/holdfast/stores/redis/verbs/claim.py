"""Claim jobs."""

from __future__ import annotations

from typing import Any

from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.engine.operations import ClaimedJobs
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import existing


def claim(op: ops.ClaimJobs) -> ScriptPlan[list[Record]]:
    claimed, received = ClaimedJobs(), 0
    terms = [
        (each.type, encode.number(each.lease), encode.number(each.max_attempts), *((True,) if each.ahead else ()))
        for each in op.types
    ]
    ahead, total = {each.type for each in op.types if each.ahead}, op.limit + op.ahead
    while (left := total - len(claimed)) > 0:
        size, slots = min(BATCH_SIZE, left), max(op.limit - len(claimed), 0)
        fresh = not (op.again and claimed)
        asked = (True,) if op.finds_new else ()
        (reply,) = yield [
            ScriptCall("claim", (terms, size, op.worker, op.token, op.had + received, fresh, slots, *asked))
        ]
        new = _take_new(reply) if op.finds_new else ()
        answered = list(existing(ReplyReader(reply)))
        received += len(answered)
        # A repeated request shows a job twice that was claimed twice under its token.
        records = ClaimedJobs({job.id: job for job in answered}.values(), new)
        claimed.add(records)
        if len(answered) < size:
            break
        if total > op.limit and any(each.type not in ahead for each in records):
            total = op.limit
    return claimed


def _take_new(reply: list[Any]) -> set[str]:
    """Take the marks of new jobs from the place of the output, the fourth of five values per job."""
    marked = [place for place in range(3, len(reply), 5) if reply[place] == 1]
    for place in marked:
        reply[place] = None
    return {reply[place - 3].decode() for place in marked}
