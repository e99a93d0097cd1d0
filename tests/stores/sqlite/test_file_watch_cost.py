"""A watch of a file makes few calls and uses little processor time."""

from __future__ import annotations

import queue
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.sqlite.wakeups.hint_log import HintLog
from tests.stores.sqlite.watched_file import APPENDING, COMMITTING, PROMPTLY, other_process, settle, watch_of, watching
from tests.stores.sqlite.watched_file import path as path


def test_an_idle_watch_makes_no_calls_and_uses_no_processor_time(path: Path) -> None:
    with other_process(COMMITTING, str(path), "wal") as other, watching(path) as calls:
        other.do()
        settle(calls)
        before = _processor_time("holdfast-watch")

        with pytest.raises(queue.Empty):
            calls.get(timeout=2)

        used = _processor_time("holdfast-watch") - before
    sys.stdout.write(f"idle for 2 s: {used} ticks of processor time\n")
    assert used <= 2


def test_writes_to_other_files_in_the_directory_cost_nothing(path: Path) -> None:
    with watching(path) as calls, (path.parent / "noise").open("wb", buffering=0) as noise:
        used = _processor_time("holdfast-watch")

        for _ in range(20_000):
            noise.write(b"x")

        assert calls.empty()
        assert _processor_time("holdfast-watch") - used <= 2


def test_many_notifications_share_few_calls(path: Path) -> None:
    with other_process(APPENDING, str(path)) as other:
        other.do(0)
        with watching(path) as calls:
            began = time.monotonic()

            other.do(50_000)
            last = calls.get(timeout=PROMPTLY)

            took = time.monotonic() - began
            count = 1 + settle(calls)
    assert last
    assert count <= 1000 * took + 30


def test_many_commits_share_few_calls(path: Path) -> None:
    with other_process(COMMITTING, str(path), "wal") as other:
        other.do()
        with watching(path) as calls:
            settle(calls)
            began = time.monotonic()

            other.do(300)

            took = time.monotonic() - began
            count = settle(calls)
    # One check in five milliseconds during the changes, and the checks of one schedule after the last change.
    assert 1 <= count <= 200 * took + 10


def test_a_commit_with_a_notification_causes_one_call(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, closing(HintLog(path, "other")) as log:
        connection.execute("pragma journal_mode=wal")
        with watching(path) as calls:
            settle(calls)
            connection.execute("insert into t values (1)")
            log.append(ANYTHING)

            # The file may have been checked after the commit and before the notification.
            assert 1 <= settle(calls) <= 2


def test_notifications_of_the_own_process_are_received_at_most_every_five_milliseconds(path: Path) -> None:
    calls: queue.Queue[int] = queue.Queue()
    with closing(HintLog(path, "own")) as own:
        watch = watch_of(path, calls, own=own)
        watch.start()
        began = time.monotonic()

        for _ in range(20_000):
            own.append(ANYTHING)

        took = time.monotonic() - began
        count = settle(calls)
        watch.stop()
    assert 1 <= count <= 200 * took + 10


def _processor_time(thread_name: str) -> int:
    """What the kernel charged to one of our threads, in ticks."""
    [ident] = [thread.native_id for thread in threading.enumerate() if thread.name == thread_name]
    fields = Path(f"/proc/self/task/{ident}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
