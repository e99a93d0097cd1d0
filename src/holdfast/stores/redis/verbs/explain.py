"""Explain: what decides whether a job is claimed."""

from __future__ import annotations

import itertools

from holdfast.core.explanation import AHEAD_LIMIT, NAMED_BLOCKERS, JobFacts, OpenBlocker
from holdfast.core.record import Status
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.decode import STATUSES, ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan


def explain(op: ops.Explain) -> ScriptPlan[JobFacts | None]:
    (reply,) = yield [ScriptCall("explain", (op.id, op.current), [op.id])]
    if not reply:
        return None
    reader = ReplyReader(reply)
    job = reader.job()
    assert job is not None, "the script shows only a job that exists"
    now, paused, ahead, *messages = reader
    blockers = (yield from _open_blockers(job.id)) if job.status is Status.BLOCKED else []
    awaited = tuple(sorted(name.decode() for name in messages))
    return JobFacts(job, int(now), bool(paused), min(int(ahead), AHEAD_LIMIT), tuple(blockers), awaited)


def _open_blockers(job_id: str) -> ScriptPlan[list[OpenBlocker]]:
    found: list[OpenBlocker] = []
    for skipped in itertools.count(0, BATCH_SIZE):
        ((more, *rest),) = yield [ScriptCall("open_blockers", (job_id, skipped, BATCH_SIZE), [job_id])]
        rows = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        found += [OpenBlocker(chain.decode(), type.decode(), STATUSES[letter.decode()]) for chain, type, letter in rows]
        if not more or len(found) >= NAMED_BLOCKERS:
            break
    return found[:NAMED_BLOCKERS]
