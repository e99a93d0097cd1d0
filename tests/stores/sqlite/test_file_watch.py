"""The file watch, with real processes that write to the file."""

from __future__ import annotations

import errno
import os
import queue
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from statistics import median

import pytest

from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.sqlite.wakeups import file_watch as watch_module
from holdfast.stores.sqlite.wakeups.file_watch import FileWatch
from holdfast.stores.sqlite.wakeups.hint_log import HintLog
from tests.stores.sqlite.watched_file import APPENDING, COMMITTING, PROMPTLY, other_process, settle, watch_of, watching
from tests.stores.sqlite.watched_file import path as path


def test_a_notification_of_another_process_arrives(path: Path) -> None:
    delays: list[float] = []

    with other_process(APPENDING, str(path)) as other:
        other.do(0)
        with watching(path) as calls:
            for _ in range(50):
                appended = other.do()
                delays.append((calls.get(timeout=PROMPTLY) - appended) / 1e6)
                settle(calls, quiet=0.01)

    sys.stdout.write(f"append to call: median {median(delays):.2f} ms, worst {max(delays):.2f} ms\n")
    assert median(delays) < PROMPTLY * 1000


@pytest.mark.parametrize("journal", ["wal", "delete", "truncate", "persist"])
def test_a_commit_on_a_plain_connection_of_another_process_is_detected(path: Path, journal: str) -> None:
    delays: list[float] = []

    with other_process(COMMITTING, str(path), journal) as other:
        other.do()
        with watching(path) as calls:
            settle(calls)
            for _ in range(10):
                committed = other.do()
                delays.append((calls.get(timeout=PROMPTLY) - committed) / 1e6)
                settle(calls, quiet=0.03)

    sys.stdout.write(f"{journal} commit to call: median {median(delays):.2f} ms, worst {max(delays):.2f} ms\n")
    assert median(delays) < PROMPTLY * 1000


def test_a_commit_that_becomes_visible_long_after_its_write_is_detected(path: Path) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        watching(path) as calls,
    ):
        connection.execute("pragma cache_size=1")
        connection.execute("begin immediate")
        # More than the cache holds, so that pages are written to the file before the commit.
        connection.executemany("insert into t values (?)", [("x" * 4000,)] * 200)
        with pytest.raises(queue.Empty):
            calls.get(timeout=0.2)

        connection.execute("commit")

        calls.get(timeout=PROMPTLY)


def test_the_first_commit_to_a_file_that_is_created_later_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "later.db"

    with watching(path) as calls, closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (x)")

        calls.get(timeout=PROMPTLY)


def test_a_replaced_file_is_watched(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        connection.execute("create table t (x)")

    with watching(path) as calls:
        (tmp_path / "new.db").replace(path)
        calls.get(timeout=PROMPTLY)
        settle(calls)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("insert into t values (1)")

        calls.get(timeout=PROMPTLY)


def test_own_notifications_from_before_the_start_hide_no_others(path: Path) -> None:
    calls: queue.Queue[int] = queue.Queue()
    with closing(HintLog(path, "own")) as own, closing(HintLog(path, "other")) as other:
        own.append(ANYTHING)
        watch = watch_of(path, calls, own=own)
        watch.start()

        other.append(ANYTHING)

        calls.get(timeout=PROMPTLY)
        watch.stop()


def test_a_failing_listener_is_called_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    called: queue.Queue[None] = queue.Queue()

    def fail() -> None:
        called.put(None)
        raise RuntimeError("not today")

    watch = FileWatch(path, fail, on_notification=fail)
    with closing(HintLog(path, "other")) as log:
        watch.start()
        log.append(ANYTHING)
        called.get(timeout=PROMPTLY)
        log.append(ANYTHING)
        called.get(timeout=PROMPTLY)
        watch.stop()

    assert "not today" in caplog.text


def test_stop_ends_the_thread_and_closes_every_file(path: Path) -> None:
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    watch = FileWatch(path, lambda: None)
    watch.start()
    assert "holdfast-watch" in [thread.name for thread in threading.enumerate()]

    watch.stop()
    watch.stop()

    assert "holdfast-watch" not in [thread.name for thread in threading.enumerate()]
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_listener_may_stop_its_own_watch(path: Path) -> None:
    stopped = threading.Event()

    def stop() -> None:
        watch.stop()
        stopped.set()

    watch = FileWatch(path, stop, on_notification=stop)
    with closing(HintLog(path, "other")) as log:
        watch.start()
        log.append(ANYTHING)

        assert stopped.wait(PROMPTLY)


def test_commits_are_detected_without_file_events(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no inotify here")

    monkeypatch.setattr(watch_module, "FileEvents", refuse)
    with other_process(COMMITTING, str(path), "wal") as other, watching(path) as calls:
        other.do()

        calls.get(timeout=PROMPTLY)


def test_a_watch_beyond_the_limit_of_the_system_polls_and_logs_a_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "no instance left", "inotify_init1")

    monkeypatch.setattr(watch_module, "FileEvents", refuse)
    with watching(path) as calls, closing(sqlite3.connect(path)) as connection:
        connection.execute("insert into t values (1)")
        connection.commit()
        calls.get(timeout=PROMPTLY)

    assert [record.levelname for record in caplog.records if "no instance left" in record.message] == ["WARNING"]


def test_a_watch_stops_while_a_forked_child_has_its_pipe_open(path: Path) -> None:
    script = """
import os, sys
from holdfast.stores.sqlite.wakeups.file_watch import FileWatch
watch = FileWatch(sys.argv[1], lambda: None)
watch.start()
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    watch.stop()
    os.close(writing)
    os.read(reading, 1)
    os._exit(0)
watch.stop()
os.close(writing)
os.waitpid(child, 0)
print("stopped")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, os.fspath(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == "stopped\n"
