"""Counters on PostgreSQL: open transactions never wait for the counters of each other, nor for a prune."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.core.counters import Counts
from holdfast.engine.operations import CancelChains, ClaimJobs, GetCounters, Prune, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.sql import counting
from holdfast.testing.builders import completed, new_job


def test_open_transactions_do_not_wait_for_the_counters_of_each_other(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "ADDED_UP_AT", 1)
    jobs = [new_job() for _ in range(4)]
    store.perform_sync(Start(tuple(jobs)))
    (running,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "w", "token"))
    waiting = [job.id for job in jobs if job.id != running.id]
    first, second = store.begin_sync(), store.begin_sync()

    first.perform(Settle((completed(running),)))
    second.perform(CancelChains((waiting[0],)))
    first.perform(CancelChains((waiting[1],)))
    store.perform_sync(Prune(10))
    store.perform_sync(CancelChains((waiting[2],)))
    assert _total(store).cancelled == 1

    first.commit()
    store.perform_sync(Prune(10))
    second.commit()
    counts = _total(store)
    assert (counts.started, counts.completed, counts.cancelled) == (4, 1, 3)


def test_one_prune_at_a_time_adds_up(
    store: PostgresStore, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "ADDED_UP_AT", 1)
    store.perform_sync(Start((new_job(),)))
    with connection.transaction():
        connection.execute(f'select * from "{store.schema}".counter_lock for update'.encode())

        store.perform_sync(Prune(10))

        assert connection.execute(f'select count(*) from "{store.schema}".counter'.encode()).fetchone() == (0,)
    store.perform_sync(Prune(10))
    assert connection.execute(f'select count(*) from "{store.schema}".counter'.encode()).fetchone() == (2,)
    assert _total(store).started == 1


def _total(store: PostgresStore) -> Counts:
    return store.perform_sync(GetCounters()).totals["resize"]
