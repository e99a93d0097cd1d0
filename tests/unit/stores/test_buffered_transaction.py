"""Buffered transactions: starts are sent with the settlement."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    GetChains,
    Guard,
    LockChain,
    Operation,
    PreviewStart,
    Prune,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import Conflict
from holdfast.stores.memory import MemoryStore
from holdfast.testing.builders import completed, continued, new_job, next_job


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def claimed(store: MemoryStore) -> Record:
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 10**9, 3),), 1, "w", "t"))
    return job


def test_starts_return_at_once_and_are_written_with_the_settlement(store: MemoryStore) -> None:
    job, side = claimed(store), new_job("side")
    tx = store.begin_sync()

    ((chain, deduplicated),) = tx.perform(Start((side,)))
    assert (chain.first.id, chain.last.status, deduplicated) == (side.id, Status.PENDING, False)
    assert store.perform_sync(GetChains((side.id,))) == [None]

    tx.perform(Settle((completed(job),)))
    assert store.perform_sync(GetChains((side.id,))) != [None]
    tx.commit()


async def test_the_async_transaction_does_the_same(store: MemoryStore) -> None:
    job, side = claimed(store), new_job("side")
    tx = await store.begin()

    await tx.perform(Start((side,)))
    assert store.perform_sync(GetChains((side.id,))) == [None]
    (answer,) = await tx.perform(Settle((completed(job),)))
    await tx.commit()

    assert answer.written
    assert store.perform_sync(GetChains((side.id,))) != [None]


def test_starts_are_written_with_a_completion_from_outside_too(store: MemoryStore) -> None:
    job, side = claimed(store), new_job("side")
    tx = store.begin_sync()
    current = tx.perform(LockChain(job.id))

    tx.perform(Start((side,)))
    tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))

    assert store.perform_sync(GetChains((side.id,))) != [None]


def test_a_rollback_discards_the_starts(store: MemoryStore) -> None:
    job, side = claimed(store), new_job("side")
    tx = store.begin_sync()
    tx.perform(Start((side,)))

    tx.rollback()
    tx.perform(Settle((completed(job),)))

    assert store.perform_sync(GetChains((side.id,))) == [None]


def test_starts_find_chains_of_the_same_transaction_and_of_the_store(store: MemoryStore) -> None:
    (stored,) = store.perform_sync(Start((new_job("side", key="stored"),)))
    job, fresh = claimed(store), new_job("side", key="fresh")
    tx = store.begin_sync()

    answers = [
        *tx.perform(Start((fresh, new_job("side", key="stored")))),
        *tx.perform(Start((new_job("side", key="fresh"), fresh))),
    ]

    assert [(chain.first.id, deduplicated) for chain, deduplicated in answers] == [
        (fresh.id, False),
        (stored.chain.first.id, True),
        (fresh.id, True),
        (fresh.id, True),
    ]
    (answer,) = tx.perform(Settle((completed(job),)))
    assert answer.written


def test_a_changed_result_refuses_the_whole_transaction(store: MemoryStore) -> None:
    job, side = claimed(store), new_job("side", key="k")
    tx = store.begin_sync()
    tx.perform(Start((side,)))
    store.perform_sync(Start((new_job("side", key="k"),)))

    (answer,) = tx.perform(Settle((continued(job, next_job(job)),)))

    assert isinstance(answer.refused, Conflict)
    (chain,) = store.perform_sync(GetChains((job.id,)))
    assert chain is not None
    assert chain.last.status is Status.RUNNING


def test_a_found_chain_that_finished_meanwhile_refuses_the_whole_transaction(store: MemoryStore) -> None:
    (found,) = store.perform_sync(Start((new_job("side", key="k"),)))
    job = claimed(store)
    tx = store.begin_sync()
    tx.perform(Start((new_job("side", key="k"),)))
    store.perform_sync(CancelChains((found.chain.first.id,)))

    (answer,) = tx.perform(Settle((completed(job),)))

    assert isinstance(answer.refused, Conflict)


def test_reads_and_guards_are_performed_at_once(store: MemoryStore) -> None:
    job = claimed(store)
    tx = store.begin_sync()

    tx.perform(Guard(job.claim))

    (chain,) = tx.perform(GetChains((job.id,)))
    assert chain is not None
    assert chain.last == job


@pytest.mark.parametrize("operation", [CancelChains(()), Prune(1), Settle(())])
async def test_other_writes_are_refused(store: MemoryStore, operation: Operation[Any]) -> None:
    blocking, waiting = store.begin_sync(), await store.begin()

    with pytest.raises(TypeError, match="cannot be part of a transaction"):
        blocking.perform(operation)
    with pytest.raises(TypeError, match="cannot be part of a transaction"):
        await waiting.perform(operation)


def test_there_is_no_connection_for_the_application(store: MemoryStore) -> None:
    assert store.begin_sync().native is None
    for join in (store.join, store.join_sync):
        with pytest.raises(TypeError, match="leave tx out"):
            join(object())


def test_a_preview_returns_what_a_start_would_find_and_writes_nothing(store: MemoryStore) -> None:
    (stored,) = store.perform_sync(Start((new_job(key="k"),)))
    fresh = new_job(key="fresh")

    found = store.perform_sync(PreviewStart((new_job(key="k"), fresh, new_job(key="fresh"), new_job())))

    assert [None if chain is None else chain.first.id for chain in found] == [
        stored.chain.first.id,
        None,
        fresh.id,
        None,
    ]
    assert store.perform_sync(GetChains((fresh.id,))) == [None]


def test_a_start_does_not_send_unrelated_earlier_starts_again(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    perform = store.perform_sync

    def counting(operation: Operation[Any]) -> Any:
        if isinstance(operation, PreviewStart):
            asked.append(len(operation.jobs))
        return perform(operation)

    monkeypatch.setattr(store, "perform_sync", counting)
    tx = store.begin_sync()
    for _ in range(100):
        tx.perform(Start((new_job("side"),)))
    for _ in range(3):
        tx.perform(Start((new_job("side", key="k"),)))

    assert asked == [1] * 100 + [1, 2, 3]
