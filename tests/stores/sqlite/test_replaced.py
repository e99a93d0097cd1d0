"""The file of a store is removed or replaced while programs use it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiosqlite
import pytest

from holdfast import Client, Jobs, SyncClient, Worker
from holdfast.errors import StoreReplaced, StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.wakeups import file_watch
from holdfast.stores.sqlite.wakeups.hint_log import wake_file
from holdfast.stores.sqlite.writing.write_queue import write_queue
from tests.waiting import wait_until

TIMEOUT = 60.0

jobs = Jobs()


@jobs.job
def noted(number: int) -> int:
    return number


def remove(path: Path) -> None:
    path.unlink()


def rename_another_over_it(path: Path) -> None:
    other = path.with_name("other.db")
    shutil.copy(path, other)
    other.replace(path)


def remove_and_let_another_process_create_it(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    program = f"from holdfast import SyncClient\nwith SyncClient('sqlite:///{path}'): pass"
    subprocess.run([sys.executable, "-c", program], check=True)


WAYS = [remove, rename_another_over_it, remove_and_let_another_process_create_it]


@pytest.mark.parametrize("replace", WAYS)
def test_every_call_is_refused_after_the_file_was_removed(path: Path, replace: Callable[[Path], None]) -> None:
    with SyncClient(f"sqlite:///{path}", jobs) as client:
        chain = client.start(noted.bind(1))
        connection = sqlite3.connect(path)

        replace(path)

        calls: list[Callable[[], object]] = [
            lambda: client.start(noted.bind(2)),
            lambda: client.start(noted.bind(2), tx=connection),
            lambda: client.cancel(chain),
            lambda: client.get(chain),
            lambda: client.pause("noted"),
            lambda: client.completing(chain).__enter__(),
        ]
        for call in calls:
            with pytest.raises(StoreReplaced, match="was removed or replaced"):
                call()
        connection.close()


def test_a_call_that_waited_for_the_write_lock_during_the_replacement_is_refused(path: Path) -> None:
    with SyncClient(f"sqlite:///{path}", jobs) as client, ThreadPoolExecutor(1) as pool:
        client.start(noted.bind(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        starting = pool.submit(client.start, noted.bind(2))
        wait_until(lambda: len(write_queue(path).waiters) == 1)

        rename_another_over_it(path)
        other.execute("rollback")

        with pytest.raises(StoreReplaced):
            starting.result(TIMEOUT)
        assert other.execute("select count(*) from holdfast_job").fetchone() == (1,)
        other.close()


def test_a_transaction_that_was_open_during_the_replacement_is_not_committed(path: Path) -> None:
    with SyncClient(f"sqlite:///{path}", jobs) as client:
        chain = client.start(noted.bind(1))

        def complete() -> None:
            with client.completing(chain) as current:
                current.output(5)
                rename_another_over_it(path)

        with pytest.raises(StoreReplaced):
            complete()


@pytest.mark.parametrize("replace", WAYS)
async def test_a_worker_stops_with_a_message(
    path: Path, replace: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(f"sqlite:///{path}", jobs) as client:
        worker = Worker(client, poll_interval=0.05)
        running = asyncio.create_task(worker.run(signals=False))
        await client.wait(await client.start(noted.bind(1)), timeout=TIMEOUT)

        replace(path)

        with caplog.at_level(logging.ERROR), pytest.raises(StoreReplaced):
            await asyncio.wait_for(running, TIMEOUT)
        assert f"worker {worker.id} stops" in caplog.text
        assert "was removed or replaced" in caplog.text


def rename_it(path: Path) -> None:
    path.rename(path.with_name("renamed.db"))


def rename_its_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("renamed"))


@pytest.mark.parametrize("watched_by", ["events", "polling"])
@pytest.mark.parametrize("replace", [*WAYS, rename_it, rename_its_directory])
async def test_an_idle_worker_stops_without_waiting_for_its_next_claim(
    tmp_path: Path, replace: Callable[[Path], None], watched_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no file events")

    if watched_by == "polling":
        monkeypatch.setattr(file_watch, "FileEvents", refuse)
    path = tmp_path / "store" / "jobs.db"
    path.parent.mkdir()
    async with Client(f"sqlite:///{path}", jobs) as client:
        worker = Worker(client, poll_interval=10 * TIMEOUT)
        running = asyncio.create_task(worker.run(signals=False))
        await client.wait(await client.start(noted.bind(1)), timeout=TIMEOUT)

        replace(path)

        with pytest.raises(StoreReplaced):
            await asyncio.wait_for(running, TIMEOUT / 2)


def test_a_symbolic_link_in_place_of_the_wake_up_file_is_named(path: Path) -> None:
    wake_file(path).symlink_to(path.with_name("elsewhere"))

    with pytest.raises(StoreUnavailable, match="symbolic link: remove it"):
        SqliteStore(f"sqlite:///{path}").open_sync()


def test_a_connection_with_text_factory_bytes_is_accepted(path: Path) -> None:
    with SyncClient(f"sqlite:///{path}", jobs) as client:
        connection = sqlite3.connect(path)
        connection.text_factory = bytes
        chain = client.start(noted.bind(1), tx=connection)
        connection.commit()

        assert connection.execute("select 'a'").fetchone() == (b"a",)
        assert client.get(chain) is not None
        connection.close()


async def test_an_async_connection_with_text_factory_bytes_is_accepted(path: Path) -> None:
    async with Client(f"sqlite:///{path}", jobs) as client, aiosqlite.connect(path) as connection:
        connection.text_factory = bytes
        chain = await client.start(noted.bind(1), tx=connection)
        await connection.commit()

        assert connection.text_factory is bytes
        assert await client.get(chain) is not None
