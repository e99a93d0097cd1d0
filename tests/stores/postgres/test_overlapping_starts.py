"""Starts that meet an open transaction with the same key. Each test shows the race by the operation that waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.core.record import Status
from holdfast.engine.operations import (
    ClaimJobs,
    Delete,
    GetJobs,
    Start,
    Started,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.plan import Instruction, Pipeline, Result
from holdfast.stores.postgres.rows import SQL
from holdfast.testing.builders import new_job
from tests.stores.postgres.claims import TERMS, claim
from tests.stores.postgres.waiting import waits


def test_a_start_waits_for_an_uncommitted_start_with_the_same_key(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    first = new_job(key="one")
    tx = store.begin_sync()
    tx.perform(Start((first,)))

    other = waits(connection, lambda: store.perform_sync(Start((new_job(key="one"),))), pool)
    tx.commit()

    (started,) = other.result()
    assert started.deduplicated
    assert started.chain.first.id == first.id


def test_a_start_that_waited_for_a_rollback_creates_the_chain(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    tx = store.begin_sync()
    tx.perform(Start((new_job(key="one"),)))

    other = waits(connection, lambda: store.perform_sync(Start((new_job(key="one"),))), pool)
    tx.rollback()

    assert not other.result()[0].deduplicated


def test_sixty_four_starts_with_one_key_create_one_chain(store: PostgresStore, address: str) -> None:
    stores = [PostgresStore(address) for _ in range(8)]
    barrier = threading.Barrier(64)
    answers: list[Started] = []

    def start(number: int) -> None:
        barrier.wait()
        started = stores[number % 8].perform_sync(Start((new_job(key="one"),)))
        answers.extend(started)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in stores:
        each.close_sync()

    assert sum(not answer.deduplicated for answer in answers) == 1
    assert len(answers) == 64
    assert len({answer.chain.first.id for answer in answers}) == 1


@pytest.mark.parametrize("key", ["one", None], ids=["found by its key", "sent again"])
def test_a_chain_that_is_deleted_while_a_start_finds_it_is_started_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    job = new_job(key=key)
    store.perform_sync(Start((job,)))
    execute = SyncConnection.execute
    deleted: list[str] = []

    def delete_first(opened: SyncConnection, instruction: Instruction) -> Result:
        if not isinstance(instruction, Pipeline) and instruction.sql == SQL["chains"] and not deleted:
            deleted.append(job.id)
            store.perform_sync(Delete((job.id,)))
        return execute(opened, instruction)

    monkeypatch.setattr(SyncConnection, "execute", delete_first)

    (started,) = store.perform_sync(Start((job if key is None else new_job(key=key),)))

    assert deleted
    assert not started.deduplicated
    assert store.perform_sync(GetJobs((started.chain.first.id,))) != [None]


def test_a_start_that_replaces_a_chain_waits_for_an_uncommitted_one_and_claims_skip_the_chain(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    chain = new_job(key="one", input=b"1")
    store.perform_sync(Start((chain,)))
    tx = store.begin_sync()
    tx.perform(Start((new_job(key="one", input=b"2", dedup="waiting"),)))
    assert claim(store, 9) == []

    start = Start((new_job(key="one", input=b"3", dedup="waiting"),))
    other = waits(connection, lambda: store.perform_sync(start), pool)
    tx.commit()

    assert [(each.chain.first.id, each.deduplicated) for each in other.result()] == [(chain.id, True)]
    assert [job.input for job in claim(store, 9)] == [b"3"]


def test_a_start_that_meets_an_uncommitted_claim_of_the_chain_creates_another(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    chain = new_job(key="one", input=b"1")
    store.perform_sync(Start((chain,)))
    tx = store.begin_sync()
    assert [job.id for job in tx.perform(ClaimJobs(TERMS, 1, "worker", "token"))] == [chain.id]

    start = Start((new_job(key="one", input=b"2", dedup="waiting"),))
    other = waits(connection, lambda: store.perform_sync(start), pool)
    tx.commit()

    assert [(each.chain.first.input, each.deduplicated) for each in other.result()] == [(b"2", False)]
    (claimed,) = store.perform_sync(GetJobs((chain.id,)))
    assert claimed is not None
    assert (claimed.status, claimed.input) == (Status.RUNNING, b"1")
