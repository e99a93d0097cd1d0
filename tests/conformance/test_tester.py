"""The cases are worth something: a store that lacks one protection fails the case that is named after it."""

from __future__ import annotations

from typing import TypeVar, cast

import pytest
from msgspec.structs import replace

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Claim
from holdfast.engine.operations import Cancel, Delete, GetJobs, Operation, Reap, Settle, Start
from holdfast.stores.memory import MemoryStore
from holdfast.testing.conformance import CASES, Case, Mode

R = TypeVar("R")


class ByWorker(MemoryStore):
    """Fences by job and status alone: whoever settles is believed."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Settle):
            settlements = tuple(self._believed(settlement) for settlement in operation.settlements)
            return cast(R, super().perform_sync(Settle(settlements)))
        return super().perform_sync(operation)

    def _believed(self, settlement: Settlement) -> Settlement:
        (job,) = super().perform_sync(GetJobs((settlement.claim.job_id,)))
        token = None if job is None else job.token
        return replace(settlement, claim=Claim(settlement.claim.job_id, token or settlement.claim.token))


class Keyless(MemoryStore):
    """Looks for no key."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Start):
            jobs = tuple(replace(job, dedup="incomplete", window=0) for job in operation.jobs)
            return cast(R, super().perform_sync(Start(jobs)))
        return super().perform_sync(operation)


class OneByOne(MemoryStore):
    """Takes a batch apart."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Cancel):
            chains = [super(OneByOne, self).perform_sync(Cancel((id,), operation.reason)) for id in operation.chain_ids]
            return cast(R, [chain for answer in chains for chain in answer])
        return super().perform_sync(operation)


class Heedless(MemoryStore):
    """Deletes and reaps what it should spare."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Reap):
            return cast(R, super().perform_sync(replace(operation, held=())))
        if isinstance(operation, Delete):
            return cast(R, super().perform_sync(replace(operation, cascade=True)))
        return super().perform_sync(operation)


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("store", "case"),
    [
        (ByWorker, "fencing: a claim is stale once the same worker claimed the job again"),
        (ByWorker, "fencing: a claim is stale once another worker has the job"),
        (Keyless, "dedup: of 64 that start one key at once one creates"),
        (OneByOne, "cancel: an unknown chain means that nothing is cancelled"),
        (Heedless, "reap: held claims are left alone"),
        (Heedless, "delete: without cascade blockers stay"),
    ],
)
def test_a_store_without_a_protection_fails_its_case(store: type[MemoryStore], case: str, mode: Mode) -> None:
    broken = store()

    with pytest.raises(AssertionError):
        _case(case).run(lambda: broken, mode)


def test_every_case_is_a_sentence_of_its_own() -> None:
    names = [str(case) for case in CASES]

    assert len(set(names)) == len(names)
    assert all(len(case.sentence.split()) > 3 for case in CASES)


def _case(name: str) -> Case:
    (case,) = [case for case in CASES if str(case) == name]
    return case
