"""Ids and tokens."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from uuid import UUID

import pytest

from holdfast.core.ids import new_id, new_token

FORKING = """
import os, signal, sys
from holdfast.core import ids

ids._lock.acquire()  # as if another thread were making an id at the moment of the fork
child = os.fork()
if child == 0:
    signal.alarm(10)
    first, second = ids.new_id(), ids.new_id()
    os._exit(0 if first < second else 1)
ids._lock.release()
parent = ids.new_id()
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
FORKED_TOKENS = """
import os
from holdfast.core.ids import new_token

new_token()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, new_token().encode())
    os._exit(0)
os.close(writer)
child = os.read(reader, 100).decode()
assert child not in {new_token() for _ in range(100)}
"""


def test_each_id_sorts_after_those_made_before_it() -> None:
    ids = [new_id() for _ in range(20_000)]

    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_an_id_is_a_uuid_of_version_seven_that_contains_its_time() -> None:
    id = UUID(new_id())

    assert (id.version, id.variant) == (7, "specified in RFC 4122")
    assert abs((id.int >> 80) / 1000 - time.time()) < 60


def test_ids_go_on_rising_when_the_clock_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 1)

    ids = [new_id() for _ in range(3)]

    assert [before, *ids] == sorted([before, *ids])


def test_threads_never_make_the_same_id() -> None:
    made: list[list[str]] = [[] for _ in range(8)]
    barrier = threading.Barrier(8)

    def make(mine: list[str]) -> None:
        barrier.wait()
        mine += [new_id() for _ in range(500)]

    threads = [threading.Thread(target=make, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(mine == sorted(mine) for mine in made)
    assert len({id[:18] for mine in made for id in mine}) == 4000


def test_a_forked_child_makes_ids_though_the_parent_was_making_one() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], timeout=60, check=False)

    assert done.returncode == 0


def test_tokens_do_not_repeat() -> None:
    tokens = {new_token() for _ in range(10_000)}

    assert len(tokens) == 10_000
    assert {len(token) for token in tokens} == {24}


def test_a_forked_child_makes_other_tokens_than_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED_TOKENS], timeout=60, check=False)

    assert done.returncode == 0
