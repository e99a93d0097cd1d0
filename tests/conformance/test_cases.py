"""The cases detect broken stores: a store without a protection fails the case of that protection."""

from __future__ import annotations

from typing import TypeVar, cast

import pytest
from msgspec.structs import replace

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Claim
from holdfast.engine.operations import CancelChains, Delete, GetJobs, Operation, Reap, Settle, Start
from holdfast.stores.memory import MemoryStore
from holdfast.testing.conformance import CASES, Case, Mode

R = TypeVar("R")


class AcceptsAnyToken(MemoryStore):
    """Settles without comparing the token."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Settle):
            settlements = tuple(self._with_current_token(settlement) for settlement in operation.settlements)
            return cast(R, super().perform_sync(Settle(settlements)))
        return super().perform_sync(operation)

    def _with_current_token(self, settlement: Settlement) -> Settlement:
        (job,) = super().perform_sync(GetJobs((settlement.claim.job_id,)))
        token = None if job is None else job.token
        return replace(settlement, claim=Claim(settlement.claim.job_id, token or settlement.claim.token))


class IgnoresKeys(MemoryStore):
    """Ignores the keys of started jobs."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Start):
            jobs = tuple(replace(job, dedup="incomplete", window=0) for job in operation.jobs)
            return cast(R, super().perform_sync(Start(jobs)))
        return super().perform_sync(operation)


class SplitsBatches(MemoryStore):
    """Performs the parts of a batch one by one."""

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CancelChains):
            chains = [
                super(SplitsBatches, self).perform_sync(CancelChains((id,), operation.reason))
                for id in operation.chain_ids
            ]
            return cast(R, [chain for answer in chains for chain in answer])
        return super().perform_sync(operation)


class IgnoresOptions(MemoryStore):
    """Ignores `held` of a reap, and deletes blockers without `cascade`."""

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
        (AcceptsAnyToken, "fencing: a claim is stale once the same worker claimed the job again"),
        (AcceptsAnyToken, "fencing: a claim is stale once another worker has the job"),
        (IgnoresKeys, "dedup: one of 64 concurrent starts with the same key creates the chain"),
        (SplitsBatches, "cancel: an unknown chain refuses the whole operation"),
        (IgnoresOptions, "reap: held claims are not reaped"),
        (IgnoresOptions, "delete: blockers are not deleted without cascade"),
    ],
)
def test_a_store_without_a_protection_fails_its_case(store: type[MemoryStore], case: str, mode: Mode) -> None:
    broken = store()

    with pytest.raises(AssertionError):
        _case(case).run(lambda: broken, mode)


def test_every_case_is_a_different_sentence() -> None:
    names = [str(case) for case in CASES]

    assert len(set(names)) == len(names)
    assert all(len(case.sentence.split()) > 3 for case in CASES)


def _case(name: str) -> Case:
    (case,) = [case for case in CASES if str(case) == name]
    return case
