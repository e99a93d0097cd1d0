"""Row locks under contention: an operation that waited for a job keeps its lock, however many others wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.engine.generators import drive
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection import connection as connection_module
from holdfast.stores.postgres.plan import Instruction, Plan, ReleaseSavepoint, Result, RollbackToSavepoint, Savepoint
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import locks
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.waiting import wait_until

TERMS = (TypeTerms("resize", 60_000_000, 25),)


def wait_until_waiting(connection: psycopg.Connection, store: PostgresStore, sessions: int) -> None:
    """Wait until this many sessions wait for a lock on jobs of this store."""
    sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and position(%s in query) > 0"
    wait_until(lambda: connection.execute(sql, [store.schema]).fetchone() == (sessions,))


def test_a_settlement_that_waited_for_its_job_is_written_before_the_next_waiter_gets_the_lock(
    store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    lock = f'select from "{store.schema}".job where id = %s for update'.encode()
    release = threading.Event()

    def lock_next() -> None:
        with server.connect() as waiter, waiter.transaction():
            waiter.execute(lock, [job.id])
            release.wait(60)

    with ThreadPoolExecutor(2) as pool, server.connect() as other:
        try:
            with other.transaction():
                other.execute(lock, [job.id])
                settling = pool.submit(store.perform_sync, Settle((completed(job),)))
                wait_until_waiting(connection, store, 1)
                holding = pool.submit(lock_next)
                wait_until_waiting(connection, store, 2)

            (settled,) = settling.result(60)
        finally:
            release.set()
        holding.result(60)
    assert settled.written


def test_the_lock_of_a_job_is_kept_while_new_jobs_are_locked() -> None:
    """Whenever the lock of job 1 is tried, another job begins to wait for its chain, until job 1 is locked."""
    jobs, locked, busy = {1}, set[int](), {1}
    instructions: list[Instruction] = []

    def find() -> Plan[tuple[None, locks.Wanted]]:
        yield Statement("find")
        return None, locks.Wanted(set(jobs))

    def execute(instruction: Instruction) -> Result:
        instructions.append(instruction)
        assert len(instructions) < 100, "it never ends"
        match instruction:
            case RollbackToSavepoint():
                locked.clear()
            case Statement(sql, parameters) if sql == SQL["lock_jobs"]:
                assert not isinstance(parameters, tuple)
                if parameters["first"] == 1:
                    busy.clear()
                if 1 not in locked:
                    jobs.add(max(jobs) + 1)
                free = set(parameters["seqs"]) - busy
                locked.update(free)
                return Result((seq, True) for seq in free)
            case _:
                pass
        return Result()

    drive(locks.lock(PlanContext(), find), execute)

    assert locked == jobs
    assert instructions.count(RollbackToSavepoint()) == 1
    assert (instructions[0], instructions[-1]) == (Savepoint(), ReleaseSavepoint())


def test_an_operation_that_never_gets_all_locks_ends_at_its_deadline(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.perform_sync(Start((blocker := new_job(),)))
    send, rounds = connection_module.SyncConnection.send, 0

    def busy(self: connection_module.SyncConnection, instruction: Any) -> Result:
        nonlocal rounds
        result = send(self, instruction)
        if isinstance(instruction, Statement) and instruction.sql == SQL["lock_jobs"]:
            rounds += 1
            self._until = min(self._until, 0.0 if rounds > 3 else self._until)  # pyright: ignore[reportPrivateUsage]
            return Result()
        return result

    monkeypatch.setattr(connection_module.SyncConnection, "send", busy)

    with pytest.raises(StoreUnavailable, match="no answer within"):
        store.perform_sync(Start((new_job(after=(blocker.id,)),)))

    assert rounds < 10
