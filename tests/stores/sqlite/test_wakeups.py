"""Whoever waits hears of commits, whoever made them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from holdfast.operations import GetChains, Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
from holdfast.wakeups import Alarm, Hints

PROMPTLY = 10.0

STARTING = """
import sys
from holdfast.operations import Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
store = SqliteStore(sys.argv[1])
store.open_sync()
[started] = store.perform_sync(Start((new_job(),)))
print(started.chain.first.id)
store.close_sync()
"""


def test_a_commit_of_another_process_is_heard(path: Path, store: SqliteStore) -> None:
    alarm = Alarm()
    store.wakeups.subscribe(lambda hints: alarm.ring())
    done = subprocess.run(
        [sys.executable, "-c", STARTING, f"sqlite:///{path}"], capture_output=True, text=True, check=True
    )

    assert alarm.wait_sync(PROMPTLY)
    [chain] = store.perform_sync(GetChains((done.stdout.strip(),)))
    assert chain is not None


def test_a_commit_of_the_application_on_its_own_connection_is_heard_once_it_can_be_seen(
    path: Path, store: SqliteStore
) -> None:
    alarm = Alarm()
    seen: list[bool] = []
    job = new_job()

    def look(hints: Hints) -> None:
        [chain] = store.perform_sync(GetChains((job.id,)))
        seen.append(chain is not None)
        if chain is not None:
            alarm.ring()

    store.wakeups.subscribe(look)
    with closing(sqlite3.connect(path)) as connection:
        store.join_sync(connection).perform(Start((job,)))
        assert seen == []
        connection.commit()

        assert alarm.wait_sync(PROMPTLY)


def test_the_file_is_watched_only_while_somebody_listens(store: SqliteStore) -> None:
    wakeups = store._files  # pyright: ignore[reportPrivateUsage]
    assert wakeups._watch is None  # pyright: ignore[reportPrivateUsage]

    forget, forget_other = store.wakeups.subscribe(lambda hints: None), store.wakeups.subscribe(lambda hints: None)
    forget()
    assert wakeups._watch is not None  # pyright: ignore[reportPrivateUsage]
    forget_other()
    forget_other()

    assert wakeups._watch is None  # pyright: ignore[reportPrivateUsage]
    assert wakeups.healthy


def test_a_subscription_outlives_closing_and_opening(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    alarm = Alarm()
    store.wakeups.subscribe(lambda hints: alarm.ring() if hints.anything else None)
    store.open_sync()
    store.close_sync()
    store.open_sync()

    subprocess.run([sys.executable, "-c", STARTING, f"sqlite:///{path}"], capture_output=True, check=True)

    assert alarm.wait_sync(PROMPTLY)
    store.close_sync()
