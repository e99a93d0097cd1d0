"""Listeners receive hints of commits by this process, other processes and the application."""

from __future__ import annotations

import errno
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.engine.operations import GetChains, Start
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.wakeups import hint_table
from holdfast.stores.sqlite.wakeups.hint_log import wake_file
from holdfast.testing.builders import new_job

PROMPTLY = 60.0

STARTING = """
import sys
from holdfast.engine.operations import Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
store = SqliteStore(sys.argv[1])
store.open_sync()
[started] = store.perform_sync(Start((new_job(),)))
print(started.chain.first.id)
store.close_sync()
"""


def test_a_commit_of_another_process_sends_a_hint(path: Path, store: SqliteStore) -> None:
    wake_flag = WakeFlag()
    store.wakeups.subscribe(lambda hints: wake_flag.set())
    done = subprocess.run(
        [sys.executable, "-c", STARTING, f"sqlite:///{path}"], capture_output=True, text=True, check=True
    )

    assert wake_flag.wait_sync(PROMPTLY)
    [chain] = store.perform_sync(GetChains((done.stdout.strip(),)))
    assert chain is not None


def test_a_commit_on_a_connection_of_the_application_sends_a_hint(path: Path, store: SqliteStore) -> None:
    wake_flag = WakeFlag()
    seen: list[bool] = []
    job = new_job()

    def look(hints: Hints) -> None:
        [chain] = store.perform_sync(GetChains((job.id,)))
        seen.append(chain is not None)
        if chain is not None:
            wake_flag.set()

    store.wakeups.subscribe(look)
    with closing(sqlite3.connect(path)) as connection:
        store.join_sync(connection).perform(Start((job,)))
        assert seen == []
        connection.commit()

        assert wake_flag.wait_sync(PROMPTLY)


def test_the_file_is_watched_while_there_is_a_listener_and_some_seconds_longer(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    wakeups = store._files  # pyright: ignore[reportPrivateUsage]
    assert wakeups._watch is None  # pyright: ignore[reportPrivateUsage]

    forget, forget_other = store.wakeups.subscribe(lambda hints: None), store.wakeups.subscribe(lambda hints: None)
    forget()
    forget_other()
    forget_other()
    watch = wakeups._watch  # pyright: ignore[reportPrivateUsage]
    assert watch is not None
    monkeypatch.setattr("holdfast.stores.sqlite.wakeups.wakeups.LINGER", 0.0)
    store.perform_sync(Start((new_job(),)))
    watch._thread.join(PROMPTLY)  # pyright: ignore[reportPrivateUsage]

    assert wakeups._watch is None  # pyright: ignore[reportPrivateUsage]
    assert wakeups.healthy


def test_a_subscription_stays_when_the_store_is_closed_and_opened_again(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    wake_flag = WakeFlag()
    store.wakeups.subscribe(lambda hints: wake_flag.set() if "resize" in hints.due else None)
    store.open_sync()
    store.close_sync()
    store.open_sync()

    subprocess.run([sys.executable, "-c", STARTING, f"sqlite:///{path}"], capture_output=True, check=True)

    assert wake_flag.wait_sync(PROMPTLY)
    store.close_sync()


@pytest.mark.parametrize("lacking", ["files", "threads"])
def test_a_watch_that_could_not_start_starts_with_the_next_listener(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "too many open files") if lacking == "files" else RuntimeError("no new thread")

    wake_flag = WakeFlag()
    with monkeypatch.context() as crowded:
        crowded.setattr("os.pipe" if lacking == "files" else "threading.Thread.start", refuse)
        store.wakeups.subscribe(lambda hints: None)
        deaf = not store.wakeups.healthy

    store.wakeups.subscribe(lambda hints: wake_flag.set())
    with closing(sqlite3.connect(path)) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()

    assert deaf
    assert store.wakeups.healthy
    assert wake_flag.wait_sync(PROMPTLY)


def test_a_listener_receives_a_commit_of_its_own_process_once(path: Path, store: SqliteStore) -> None:
    received: list[Hints] = []
    wake_flag = WakeFlag()

    def receive(hints: Hints) -> None:
        received.append(hints)
        if "other" in hints.due:
            wake_flag.set()

    store.wakeups.subscribe(receive)
    for _ in range(20):
        store.perform_sync(Start((new_job("mine"),)))
    other = SqliteStore(f"sqlite:///{path}")
    other.open_sync()
    other.perform_sync(Start((new_job("other"),)))

    assert wake_flag.wait_sync(PROMPTLY)
    other.close_sync()
    assert [hints.due for hints in received] == [{"mine"}] * 20 + [{"other"}]


def test_a_process_that_cannot_append_writes_its_hints_with_the_commit(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "too many open files")

    wake_flag = WakeFlag()
    store.wakeups.subscribe(lambda hints: wake_flag.set() if "other" in hints.due else None)
    other = SqliteStore(f"sqlite:///{path}")
    with monkeypatch.context() as crowded:
        crowded.setattr("holdfast.stores.sqlite.wakeups.wakeups.HintLog", refuse)
        other.open_sync()
    other.perform_sync(Start((new_job("other"),)))

    assert wake_flag.wait_sync(PROMPTLY)
    other.close_sync()


def test_a_missing_wake_file_does_not_end_the_watch(path: Path, store: SqliteStore) -> None:
    wake_file(path).unlink()
    wake_flag = WakeFlag()
    store.wakeups.subscribe(lambda hints: wake_flag.set())

    assert store.wakeups.healthy
    with closing(sqlite3.connect(path)) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()
    assert wake_flag.wait_sync(PROMPTLY)


def test_the_last_commit_before_a_close_sends_its_hints(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    wake_flag, committed, stopped = WakeFlag(), threading.Event(), threading.Event()
    store.wakeups.subscribe(lambda hints: wake_flag.set() if "last" in hints.due else None)
    other = SqliteStore(f"sqlite:///{path}")
    other.open_sync()
    wakeups = other._files  # pyright: ignore[reportPrivateUsage]
    send, close = wakeups.send, wakeups.close

    def send_late(hints: Hints) -> None:
        committed.set()
        assert stopped.wait(PROMPTLY)
        send(hints)

    def close_before() -> Callable[[], None]:
        end = close()
        stopped.set()
        return end

    monkeypatch.setattr(wakeups, "send", send_late)
    monkeypatch.setattr(wakeups, "close", close_before)
    starting = threading.Thread(target=lambda: other.perform_sync(Start((new_job("last"),))))
    starting.start()
    assert committed.wait(PROMPTLY)
    other.close_sync()
    starting.join(PROMPTLY)

    assert wake_flag.wait_sync(PROMPTLY)


def test_processes_that_open_a_store_made_before_the_fork_wake_each_other(path: Path) -> None:
    script = f"""
import os, sys
from holdfast.engine.operations import Start
from holdfast.engine.wake_flag import WakeFlag
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
store = SqliteStore(sys.argv[1])
readable, writable = os.pipe()
child = os.fork()
store.open_sync()
if child == 0:
    woken = WakeFlag()
    store.wakeups.subscribe(lambda hints: woken.set() if "resize" in hints.due else None)
    os.write(writable, b"x")
    found = woken.wait_sync({PROMPTLY})
    store.close_sync()
    os._exit(0 if found else 1)
os.read(readable, 1)
store.perform_sync(Start((new_job(),)))
sys.exit(os.waitpid(child, 0)[1] != 0)
"""
    subprocess.run([sys.executable, "-c", script, f"sqlite:///{path}"], check=True)


def test_commits_without_operations_of_holdfast_wake_no_listener(path: Path, store: SqliteStore) -> None:
    received: list[Hints] = []
    wake_flag = WakeFlag()

    def receive(hints: Hints) -> None:
        received.append(hints)
        wake_flag.set()

    store.wakeups.subscribe(receive)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table orders (id)")
        for _ in range(20):
            connection.execute("insert into orders values (1)")
            connection.commit()
        store.join_sync(connection).perform(Start((new_job("joined"),)))
        connection.commit()

        assert wake_flag.wait_sync(PROMPTLY)
    assert [hints.due for hints in received] == [{"joined"}]


def test_a_process_that_missed_deleted_hints_receives_anything(path: Path, store: SqliteStore) -> None:
    reader = store._parts.reader  # type: ignore[union-attr] # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    before = reader.run(hint_table.last())
    with closing(sqlite3.connect(path)) as connection:
        for _ in range(hint_table.KEPT + hint_table.KEPT // 5):
            store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()

    received = reader.run(hint_table.read("me", before))

    assert received.hints.anything
    assert not reader.run(hint_table.read("me", received.seen)).hints
