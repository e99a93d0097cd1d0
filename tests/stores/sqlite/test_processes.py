"""Many processes on one file."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.engine.operations import ClaimJobs, GetStats, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job

# Forked from a process that has no threads and no store: sixteen interpreters would take seconds to start.
FORKING = """
import json, os, sys, time
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import completed, new_job

def opening(url):
    store = SqliteStore(url)
    store.open_sync()
    applied = store.migrate_sync()
    [started] = store.perform_sync(Start((new_job(),)))
    store.close_sync()
    return {"applied": applied, "id": started.chain.first.id}

def writing(url):
    store = SqliteStore(url)
    store.open_sync()
    claimed, waits = [], []
    for number in range(25):
        began = time.monotonic()
        store.perform_sync(Start((new_job(key=f"key-{number}"), new_job())))
        jobs = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 1),), 2, "w", new_token()))
        store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
        waits.append(time.monotonic() - began)
        claimed += [job.id for job in jobs]
    store.close_sync()
    return {"claimed": claimed, "longest": max(waits)}

deed, url, count = globals()[sys.argv[1]], sys.argv[2], int(sys.argv[3])
ready, go = os.pipe()
results = []
for _ in range(count):
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(go)
        os.read(ready, 1)
        try:
            answer = deed(url)
        except BaseException as error:
            answer = {"error": repr(error)}
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    results.append(read)
os.close(go)
answers = [json.loads(os.fdopen(read).read()) for read in results]
for _ in results:
    os.wait()
print(json.dumps(answers))
"""


def in_processes(deed: str, path: Path, count: int) -> list[dict[str, object]]:
    command = [sys.executable, "-c", FORKING, deed, f"sqlite:///{path}", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers: list[dict[str, object]] = json.loads(done.stdout)
    assert [answer["error"] for answer in answers if "error" in answer] == []
    return answers


def test_sixteen_processes_may_create_the_file_at_the_same_time(path: Path) -> None:
    answers = in_processes("opening", path, 16)

    assert sorted(answer["applied"] for answer in answers if answer["applied"]) == [["0001_jobs"]]  # type: ignore[type-var]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select count(*) from holdfast_job").fetchall() == [(16,)]
        assert connection.execute("select name from holdfast_migration").fetchall() == [("0001_jobs",)]
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_sixteen_writers_all_finish(path: Path) -> None:
    answers = in_processes("writing", path, 16)

    claimed = [str(id) for answer in answers for id in answer["claimed"]]  # type: ignore[attr-defined]
    assert len(claimed) == len(set(claimed))
    with closing(sqlite3.connect(path)) as connection:
        [(jobs, completed)] = connection.execute("select count(*), sum(status = 'completed') from holdfast_job")
        twice = connection.execute(
            "select key from holdfast_job where status = 'pending' and key is not null group by key having count(*) > 1"
        ).fetchall()
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("select sum(jobs) from holdfast_tally").fetchall() == [(jobs,)]
    assert jobs > 16 * 25
    assert completed == len(claimed)
    assert twice == []


def test_a_forked_child_is_refused_with_advice(path: Path, store: SqliteStore) -> None:
    read, write = os.pipe()
    if os.fork() == 0:
        answers: list[str] = []
        for attempt in (
            lambda: store.perform_sync(GetStats()),
            lambda: store.perform_sync(Start((new_job(),))),
            store.begin_sync,
            store.open_sync,
            store.close_sync,
        ):
            try:
                attempt()
            except RuntimeError as error:
                answers.append(str(error))
        child = SqliteStore(f"sqlite:///{path}")
        child.open_sync()
        child.perform_sync(Start((new_job(),)))
        child.close_sync()
        os.write(write, json.dumps(answers).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answers = json.loads(pipe.read())
    os.wait()

    assert len(answers) == 5
    assert all("open a new client or store in the child" in answer for answer in answers)
    [stats] = store.perform_sync(GetStats())
    assert stats.counts == {"pending": 1}


def test_other_writers_time_out_while_a_stopped_process_has_the_write_lock(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=0.2")
    store.open_sync()
    with closing(sqlite3.connect(path, isolation_level=None)) as stopped:
        stopped.execute("begin immediate")

        with pytest.raises(StoreUnavailable):
            store.perform_sync(ClaimJobs((TypeTerms("resize", 1, 1),), 1, "w", "t"))

        stopped.execute("rollback")
    store.close_sync()
