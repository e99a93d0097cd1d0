"""Get jobs, chains, blockers and history by id."""

from __future__ import annotations

from typing import Any

from holdfast.core.record import ChainRecord, Record
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import decode
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, PIPELINED, ScriptCall, ScriptPlan, batches, pipelines


def get_chains(op: ops.GetChains) -> ScriptPlan[list[ChainRecord | None]]:
    chains: list[ChainRecord | None] = []
    for pipeline in pipelines(op.ids):
        for reply in (yield [ScriptCall("get_chains", ids, ids) for ids in pipeline]):
            reader = ReplyReader(reply)
            chains += [reader.chain() if found == b"found" else None for found in reader]
    return chains


def get_jobs(op: ops.GetJobs) -> ScriptPlan[list[Record | None]]:
    jobs: list[Record | None] = []
    for pipeline in pipelines(op.ids):
        for reply in (yield [ScriptCall("get_jobs", ids, ids) for ids in pipeline]):
            jobs += ReplyReader(reply).jobs()
    return jobs


def get_blockers(op: ops.GetBlockers) -> ScriptPlan[list[list[ChainRecord]]]:
    """A call for the first hundred blockers of each job, then calls for the rest, which are sent together."""
    chains: list[list[ChainRecord]] = []
    rest: list[tuple[int, int]] = []
    for pipeline in batches(op.job_ids, PIPELINED):
        for reply in (yield [_get_blockers_call(job_id, 0) for job_id in pipeline]):
            rest += [(len(chains), skipped) for skipped in range(BATCH_SIZE, reply[0], BATCH_SIZE)]
            chains.append(_blockers(reply))
    for calls in batches(rest, PIPELINED):
        replies = yield [_get_blockers_call(op.job_ids[position], skipped) for position, skipped in calls]
        for (position, _), reply in zip(calls, replies, strict=True):
            chains[position] += _blockers(reply)
    return chains


def _get_blockers_call(job_id: str, skipped: int) -> ScriptCall:
    return ScriptCall("get_blockers", (job_id, skipped, BATCH_SIZE), [job_id])


def _blockers(reply: list[Any]) -> list[ChainRecord]:
    """The chains after the number of all blockers."""
    return list(ReplyReader(reply[1:]).chains())


def get_dependents(op: ops.GetDependents) -> ScriptPlan[list[Record]]:
    (reply,) = yield [ScriptCall("get_dependents", (op.chain_id, op.limit), [op.chain_id])]
    return [job for job in ReplyReader(reply).jobs() if job is not None]


def get_started(op: ops.GetStarted) -> ScriptPlan[list[str]]:
    numbers: dict[str, float] = {}
    for pipeline in batches(list(dict.fromkeys(op.job_ids)), PIPELINED):
        for reply in (yield [ScriptCall("get_started", (job_id, op.limit), [job_id]) for job_id in pipeline]):
            numbers.update(
                (chain_id.decode(), float(seq)) for chain_id, seq in zip(reply[::2], reply[1::2], strict=True)
            )
    return sorted(numbers, key=lambda chain_id: numbers[chain_id])[: op.limit]


def get_history(op: ops.GetHistory) -> ScriptPlan[tuple[Record, list[ops.PastAttempt]] | None]:
    past: list[ops.PastAttempt] = []
    while True:
        (reply,) = yield [ScriptCall("get_history", (op.job_id, len(past), BATCH_SIZE), [op.job_id])]
        reader = ReplyReader(reply)
        job = reader.job()
        if job is None:
            return None
        attempts = decode.past_attempts(iter(reader))
        past += attempts
        if len(attempts) < BATCH_SIZE:
            return job, past
