"""Events of the application's own transaction, on every kind of connection that there is for SQLite."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client, Event, Jobs, SyncClient
from holdfast.engine.operations import FindMarks, Mark
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.verbs import marks as marks_module
from tests.stores.sqlite.app_connections import ASYNC, BLOCKING, manual, plain

jobs = Jobs()


@jobs.job
def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("kind", BLOCKING)
def test_a_blocking_transaction_delivers_what_it_committed(kind: Any, path: Path, store: SqliteStore) -> None:
    reported: list[Event] = []
    with SyncClient(store, jobs, observers=[reported.append]) as client:
        with kind(path) as tx:
            kept = client.start(double.bind(1), tx=tx)
            _savepoint(tx)(lambda: client.start(double.bind(2), tx=tx))
            assert reported == []
            tx.commit()
        with kind(path) as tx:
            client.cancel(kept, tx=tx)
            tx.rollback()

    assert [(event.kind, event.chain_id) for event in reported] == [("created", kept.id)]


def _savepoint(tx: Any) -> Any:
    """Runs a function behind a savepoint that is rolled back."""

    def undo(function: Any) -> None:
        if hasattr(tx, "begin_nested"):
            savepoint = tx.begin_nested()
            function()
            savepoint.rollback()
        else:
            tx.execute("savepoint point")
            function()
            tx.execute("rollback to point")

    return undo


@pytest.mark.parametrize("kind", ASYNC)
async def test_an_async_transaction_delivers_what_it_committed(kind: Any, path: Path, open_store: SqliteStore) -> None:
    reported: list[Event] = []
    async with Client(open_store, jobs, observers=[reported.append]) as client:
        async with kind(path) as tx:
            kept = await client.start(double.bind(1), tx=tx)
            if hasattr(tx, "begin_nested"):
                savepoint = await tx.begin_nested()
                await client.start(double.bind(2), tx=tx)
                await savepoint.rollback()
            else:
                await tx.execute("savepoint point")
                await client.start(double.bind(2), tx=tx)
                await tx.execute("rollback to point")
            assert reported == []
            await tx.commit()
        async with kind(path) as tx:
            await client.cancel(kept, tx=tx)
            await tx.rollback()

    assert [(event.kind, event.chain_id) for event in reported] == [("created", kept.id)]


def test_a_call_inside_an_open_transaction_waits_for_no_lock(path: Path, store: SqliteStore) -> None:
    """The search for marks is a read: a write would wait for the transaction that is open in the same thread."""
    reported: list[Event] = []
    with SyncClient(store, jobs, observers=[reported.append]) as client:
        with plain(path) as tx:
            first = client.start(double.bind(1), tx=tx)
            tx.commit()
        with manual(path) as tx:
            client.start(double.bind(2), tx=tx)
            assert client.get(first) is not None
            assert [event.chain_id for event in reported] == [first.id]
            tx.rollback()


def test_old_marks_are_deleted(path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks_module, "MARKS_KEPT", 2)
    marks = tuple(f"mark-{number}" for number in range(5))
    for mark in marks:
        with plain(path) as tx:
            store.join_sync(tx).perform(Mark(mark))
            tx.commit()

    assert store.perform_sync(FindMarks(marks)).ids == ["mark-3", "mark-4"]


class Committing(sqlite3.Connection):
    """A connection that can be made to look as it does to another thread during its COMMIT."""

    commits = False

    @property
    def in_transaction(self) -> bool:
        return not self.commits and super().in_transaction


def test_a_transaction_in_its_commit_is_not_taken_for_rolled_back(path: Path, store: SqliteStore) -> None:
    """SQLite ends the transaction of the connection before the commit is visible to others."""
    reported: list[Event] = []
    with SyncClient(store, jobs, observers=[reported.append]) as client:
        tx = sqlite3.connect(path, factory=Committing, isolation_level=None)
        tx.execute("begin immediate")
        chain = client.start(double.bind(1), tx=tx)
        tx.commits = True
        client.stats()
        tx.execute("commit")
        client.stats()
        tx.close()

    assert [event.chain_id for event in reported] == [chain.id]


DJANGO = """
import sys
from django.conf import settings
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}})
import django
django.setup()
from django.db import connection, connections, transaction
from holdfast import Jobs, SyncClient

jobs, received = Jobs(), []

@jobs.job
def double(number: int) -> int:
    return 2 * number

def undone(block, body):
    try:
        with block:
            body()
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass

with SyncClient("sqlite:///" + sys.argv[1], jobs, observers=[received.append]) as client:
    for tx in (connection, connections["default"], "default"):
        undone(transaction.atomic(), lambda: client.start(double.bind(1), tx=tx))
        with transaction.atomic():
            chain = client.start(double.bind(2), tx=tx)
            undone(transaction.atomic(), lambda: client.cancel(chain, tx=tx))
            assert received == []
        assert [(event.kind, event.chain_id) for event in received] == [("created", chain.id)]
        received.clear()

    transaction.set_autocommit(False)
    undone_by_hand = client.start(double.bind(3), tx=connection)
    transaction.rollback()
    chain = client.start(double.bind(4), tx=connection)
    transaction.commit()
    transaction.set_autocommit(True)
assert [(event.kind, event.chain_id) for event in received] == [("created", chain.id)]
connections.close_all()
"""


def test_a_transaction_of_django_delivers_what_it_committed(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DJANGO, str(path)], capture_output=True, text=True, check=False)

    assert (done.stderr, done.returncode) == ("", 0)
