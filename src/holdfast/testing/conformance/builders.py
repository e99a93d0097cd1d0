"""Values and short procedures that several topics use."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from holdfast.core import failure
from holdfast.core.details import JobDetails, read_details
from holdfast.core.error_groups import StoredFailure, classify
from holdfast.core.hooks import Failure
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Record
from holdfast.core.waiting_cycles import cycles
from holdfast.engine.operations import Filter, GetWaiting, ListJobs, Settled
from holdfast.errors import DependencyCycle
from holdfast.testing.builders import completed, failed, new_job
from holdfast.testing.conformance.harness import Harness


def new_waiting_job(rule: str, *chain_ids: str, priority: int = 0) -> NewJob:
    return new_job(after=chain_ids, on_blocker_failure=rule, priority=priority)


async def two_blockers(harness: Harness) -> tuple[Record, Record]:
    one, two = [await harness.claimed(new_job("other")) for _ in range(2)]
    return one, two


async def hooks_of(harness: Harness, type: str = "refund") -> list[Record]:
    """The chains of the hook, newest first."""
    return await harness.perform(ListJobs(Filter(types=(type,)), limit=1000))


def received(hook: Record) -> Failure:
    """What the hook receives."""
    ((_, value),) = msgspec.json.decode(hook.input, type=dict[str, Failure]).items()
    return value


def sent_details(job: Record | NewJob) -> JobDetails:
    """The details of a job that its creator gave: without the name of its shard, which a sharded store adds."""
    return replace(read_details(job.details), shard=None)


async def run_all(harness: Harness, *types: str) -> list[str]:
    """Run jobs until none is due. Returns their ids, in order."""
    done: list[str] = []
    while jobs := await harness.claim(*types, limit=9):
        for job in jobs:
            await harness.settled(completed(job))
            done.append(job.id)
    return done


def group_of(job: Record | NewJob, error: str) -> StoredFailure:
    return classify(job.type, failure.write("ValueError", error))


def grouped_failure(job: Record, error: str = "no luck") -> Settlement:
    return replace(failed(job, error), failure=group_of(job, error))


def cycle_of(answer: Settled) -> list[str]:
    """The cycle because of which a settlement was refused."""
    assert (answer.lost, answer.unblocked) == (None, ())
    assert isinstance(answer.refused, DependencyCycle)
    return answer.refused.chain_ids


async def waiting_cycles(harness: Harness) -> list[list[str]]:
    """The cycles of chains that wait for each other."""
    waiting = await harness.perform(GetWaiting(10_000))
    return cycles(dict(waiting), 10)
