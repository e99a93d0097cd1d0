"""Django's transactions, in a process of their own: its settings are global."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from django.conf import settings
settings.configure(DATABASES={
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]},
    "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1] + "-other"},
})
import django
django.setup()
from django.db import connection, connections, transaction
from holdfast.engine.operations import GetChains, Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job

store = SqliteStore("sqlite:///" + sys.argv[1])
store.open_sync()
received = []
store.wakeups.subscribe(received.append)

def there(started):
    return store.perform_sync(GetChains((started.chain.first.id,))) != [None]

for tx in (connection, connections["default"], "default"):
    with transaction.atomic():
        jobs = tuple(new_job("kept", key=f"{tx}-{n}") for n in range(90))
        [kept, *_] = store.join_sync(tx).perform(Start(jobs))
        before = there(kept)
        try:
            with transaction.atomic():
                [undone] = store.join_sync(tx).perform(Start((new_job("undone"),)))
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        quiet = list(received)
    assert (before, there(kept), there(undone)) == (False, True, False)
    assert quiet == [] and received[0].due == {"kept"}, (quiet, received)
    store.close_sync()
    store.open_sync()
    received.clear()

def refused(kind, tx):
    try:
        store.join_sync(tx).perform(Start((new_job(),)))
    except kind as error:
        return str(error)

print(refused(ValueError, connection))
with transaction.atomic(using="other"):
    print(refused(ValueError, "other"))
print(refused(TypeError, transaction))
store.close_sync()
connections.close_all()
"""


def test_jobs_commit_with_a_transaction_of_django(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    autocommit, other, anything_else = done.stdout.splitlines()
    assert "begin a transaction on it first" in autocommit
    assert "another database" in other
    assert "this store takes" in anything_else
