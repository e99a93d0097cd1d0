"""How the writes of one process share the one writer that SQLite has."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from holdfast.engine.operations import GetChains, GetStats, Operation, Pause, Start, Started
from holdfast.engine.wakeups import Hints, NoWakeups
from holdfast.errors import ChainNotFound, StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.writing.write_queue import Waiter, write_queue
from holdfast.testing.builders import new_job
from tests.stores.sqlite.slow_clock import SlowClock


class Mute(NoWakeups):
    """Wake-ups of a third party whose `send` raises, against the contract."""

    def send(self, hints: Hints) -> None:
        raise ConnectionError("no server")


def refuse_to_start(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def count(store: SqliteStore) -> int:
    return sum(sum(stats.counts.values()) for stats in store.perform_sync(GetStats()))


async def test_simultaneous_operations_share_a_commit(path: Path, open_store: SqliteStore) -> None:
    [before] = [sqlite3.connect(path)]
    [(version,)] = before.execute("pragma data_version").fetchall()
    hold = await open_store.begin()
    asked = [asyncio.ensure_future(open_store.perform(Start((new_job(),)))) for _ in range(50)]
    await asyncio.sleep(0)
    await hold.rollback()
    commits: list[int] = []
    open_store.wakeups.subscribe(lambda hints: commits.append(1) if not hints.anything else None)

    answers = await asyncio.gather(*asked)

    [(after,)] = before.execute("pragma data_version").fetchall()
    before.close()
    assert len({started.chain.first.id for [started] in answers}) == 50
    assert after != version
    assert len(commits) <= 3


async def test_a_refused_operation_does_not_affect_the_others_of_its_commit(open_store: SqliteStore) -> None:
    hold = await open_store.begin()
    operations: list[Operation[list[Started]]] = [
        Start((new_job(), new_job(after=("missing",)) if number % 3 == 0 else new_job())) for number in range(30)
    ]
    asked = [asyncio.ensure_future(open_store.perform(operation)) for operation in operations]
    await asyncio.sleep(0)
    await hold.rollback()

    answers = await asyncio.gather(*asked, return_exceptions=True)

    assert [isinstance(answer, ChainNotFound) for answer in answers] == [number % 3 == 0 for number in range(30)]
    assert count(open_store) == 40


async def test_a_write_that_is_cancelled_before_it_begins_is_not_performed(open_store: SqliteStore) -> None:
    hold = await open_store.begin()
    asked = asyncio.ensure_future(open_store.perform(Start((new_job(),))))
    await asyncio.sleep(0)

    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await hold.rollback()
    await open_store.perform(Pause(("x",)))

    assert count(open_store) == 0


def test_threads_and_tasks_write_side_by_side(open_store: SqliteStore) -> None:
    def in_thread() -> None:
        for _ in range(20):
            open_store.perform_sync(Start((new_job(),)))

    async def in_tasks() -> None:
        async def task() -> None:
            for _ in range(20):
                await open_store.perform(Start((new_job(),)))

        await asyncio.gather(*[task() for _ in range(4)])

    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(in_tasks())
    for thread in threads:
        thread.join()

    assert count(open_store) == 160


def test_reading_does_not_wait_for_a_transaction(store: SqliteStore) -> None:
    store.perform_sync(Start((new_job(),)))
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))

    seen = count(store)

    tx.rollback()
    assert seen == 1


async def test_a_wait_opens_no_connection_in_the_thread_of_the_loop(
    open_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, opened_in = DatabaseFile.connect_reader, list[int]()

    def connect_reader(file: DatabaseFile) -> sqlite3.Connection:
        opened_in.append(threading.get_ident())
        return connect(file)

    monkeypatch.setattr(DatabaseFile, "connect_reader", connect_reader)

    assert await open_store.perform(GetChains(("missing",), fresh=True)) == [None]
    assert await open_store.perform(GetChains(("missing",), fresh=True)) == [None]

    assert len(opened_in) == 1
    assert threading.get_ident() not in opened_in


def test_the_timeout_error_names_an_open_transaction_of_the_same_process(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=0.05")
    store.open_sync()
    tx = store.begin_sync()

    with pytest.raises(StoreUnavailable, match=r"a transaction of this program.*tx="):
        store.perform_sync(Start((new_job(),)))
    with pytest.raises(StoreUnavailable, match="a transaction of this program"):
        store.begin_sync()

    tx.rollback()
    store.perform_sync(Start((new_job(),)))
    assert count(store) == 1
    store.close_sync()


async def test_the_timeout_error_of_async_code_names_an_open_transaction_of_the_same_process(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=0.05")
    await store.open()
    tx = await store.begin()

    with pytest.raises(StoreUnavailable, match="a transaction of this program"):
        await store.perform(Start((new_job(),)))
    with pytest.raises(StoreUnavailable, match="a transaction of this program"):
        await store.begin()

    await tx.commit()
    await store.perform(Start((new_job(),)))
    await store.close()


def test_the_timeout_error_names_another_connection(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=0.05")
    store.open_sync()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")

    with pytest.raises(StoreUnavailable, match="held the write lock for too long"):
        store.perform_sync(Start((new_job(),)))

    other.execute("rollback")
    other.close()
    store.perform_sync(Start((new_job(),)))
    store.close_sync()


def test_the_log_does_not_grow_without_limit(path: Path, store: SqliteStore) -> None:
    for _ in range(1500):
        store.perform_sync(Start((new_job(),)))

    assert path.with_name("jobs.db-wal").stat().st_size < 16 * 1024 * 1024


def test_closing_waits_for_a_thread_that_is_writing(path: Path) -> None:
    clock = SlowClock()
    store = SqliteStore(f"sqlite:///{path}", clock=clock)
    store.open_sync()
    answers: list[list[Started]] = []
    clock.slow = True
    writing = threading.Thread(target=lambda: answers.append(store.perform_sync(Start((new_job(),)))))
    writing.start()
    clock.asked.wait(60)

    closing = threading.Thread(target=store.close_sync)
    closing.start()
    closing.join(0.2)
    clock.given.set()
    closing.join(60)
    writing.join(60)

    assert len(answers) == 1


def test_a_write_that_waits_when_the_store_is_closed_opens_no_connection(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    hold = store.begin_sync()
    opened: list[DatabaseFile] = []
    monkeypatch.setattr(DatabaseFile, "connect", opened.append)
    errors: list[BaseException] = []
    waiting, enter = threading.Event(), write_queue(path).enter_sync

    def enter_sync(waiter: Waiter, timeout: float) -> bool:
        waiting.set()
        return enter(waiter, timeout)

    def write() -> None:
        try:
            store.perform_sync(Start((new_job(),)))
        except Exception as error:
            errors.append(error)

    monkeypatch.setattr(write_queue(path), "enter_sync", enter_sync)
    writing = threading.Thread(target=write)
    writing.start()
    waiting.wait(60)
    store.close_sync()
    hold.rollback()
    writing.join(60)

    assert "was closed" in str(errors)
    assert not opened


async def test_a_thread_that_could_not_start_starts_with_the_next_operation(
    open_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (
        lambda: open_store.perform(Start((new_job(),))),
        lambda: open_store.perform(GetStats()),
        lambda: open_store.begin(),
    )
    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse_to_start)
        for ask in asked:
            with pytest.raises(RuntimeError, match="new thread"):
                await ask()

    async with asyncio.timeout(60):
        await open_store.perform(Start((new_job(),)))
        await open_store.perform(GetStats())
        await (await open_store.begin()).rollback()
    assert count(open_store) == 1


async def test_a_commit_succeeds_if_the_wake_up_fails(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}", wakeups=Mute())
    await store.open()

    store.perform_sync(Start((new_job(),)))
    async with asyncio.timeout(60):
        for _ in range(2):
            await store.perform(Start((new_job(),)))
        tx = await store.begin()
        await tx.perform(Start((new_job(),)))
        await tx.commit()

    assert count(store) == 4
    await store.close()
