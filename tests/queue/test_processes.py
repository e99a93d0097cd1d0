"""Real producer and consumer processes on one store: killed, frozen, stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import AttemptsExhausted, SyncQueue
from holdfast.stores.address import open_store
from tests.event_process import ROOT, TIMEOUT, EventProcess
from tests.freezing import freeze, is_write_locked
from tests.leases import expire_leases
from tests.queue.addresses import ADDRESSES


class Consumer(EventProcess[list[str]]):
    """A consumer's process, whose events can be waited for."""

    def __init__(self, address: str, **options: Any) -> None:
        given = {"visibility_timeout": 60, "poll_interval": 0.5, "concurrency": 4, **options}
        super().__init__("tests.queue.consumer", address, json.dumps(given))
        self.receive("started")

    def receive(self, *wanted: str) -> list[str]:
        """The next event that begins with these values."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            event = self.next_event(deadline, wanted)
            if event[: len(wanted)] == list(wanted):
                return event


class Harness:
    """A store that processes can share, with a blocking producer on it."""

    def __init__(self, address: str, file: Path) -> None:
        self.address = address
        self._file = file
        self.store = open_store(address)
        self.queue: SyncQueue[Any, Any] = SyncQueue("emails", store=self.store, migrate=True)
        self.consumers: list[Consumer] = []
        self.producers: list[subprocess.Popen[bytes]] = []

    def is_locked(self) -> bool:
        """Whether a process holds a lock that keeps all others from writing: only on SQLite."""
        return self.address.startswith("sqlite") and is_write_locked(self._file)

    def consumer(self, **options: Any) -> Consumer:
        consumer = Consumer(self.address, **options)
        self.consumers.append(consumer)
        return consumer

    def produce(self, id: str, payload: str) -> None:
        """Have another process enqueue and wait."""
        command = [sys.executable, "-m", "tests.queue.producer", self.address, id, payload]
        self.producers.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))

    def results(self) -> list[Any]:
        """What each producer got."""
        return [json.loads(producer.communicate(timeout=TIMEOUT)[0]) for producer in self.producers]

    def close(self) -> None:
        for producer in self.producers:
            producer.kill()
            producer.communicate()
        for consumer in self.consumers:
            consumer.close()
        self.store.close_sync()


@pytest.fixture(params=ADDRESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Harness]:
    make: Callable[[Path], str] = ADDRESSES[request.param]
    harness = Harness(make(tmp_path), tmp_path / "jobs.db")
    with harness.queue:
        yield harness
    harness.close()


def test_a_request_is_answered_from_another_process(harness: Harness) -> None:
    consumer = harness.consumer()

    result = harness.queue.enqueue_and_wait("user:1", "héllo", timeout=TIMEOUT)

    assert result == {"echo": "héllo", "attempts": 1, "process": consumer.process.pid}


def test_producers_and_consumers_in_processes_of_their_own_meet(harness: Harness) -> None:
    harness.consumer()
    harness.consumer()
    for number in range(4):
        harness.produce(f"job-{number % 2}", "x")

    results = harness.results()

    assert [result["echo"] for result in results] == ["x"] * 4
    assert results[0] == results[2]
    assert results[1] == results[3]


def test_a_killed_consumers_job_is_finished_by_another(harness: Harness) -> None:
    first = harness.consumer()
    harness.queue.enqueue("a", "hang once")
    first.receive("begun", "a", "1")
    first.kill()
    expire_leases(harness.store)
    second = harness.consumer()

    assert harness.queue.enqueue_and_wait("a", "x", timeout=TIMEOUT) == {
        "echo": "hang once",
        "attempts": 2,
        "process": second.process.pid,
    }
    assert second.terminate() == 0
    assert ["stalled", "a"] in second.events


def test_a_job_that_kills_its_consumer_every_time_ends_as_failed(harness: Harness) -> None:
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(harness.queue.enqueue_and_wait, "poison", "die", max_attempts=2, timeout=TIMEOUT)
        for _ in range(2):
            harness.consumer().process.wait(TIMEOUT)
            expire_leases(harness.store)
        harness.consumer()

        with pytest.raises(AttemptsExhausted, match="lease lost"):
            pending.result()

    status = harness.queue.status("poison")
    assert status is not None
    assert (status.state, status.attempts) == ("failed", 2)


def test_a_frozen_consumer_that_wakes_up_can_write_nothing(harness: Harness) -> None:
    frozen = harness.consumer(visibility_timeout=3.0)
    harness.queue.enqueue("a", "hang once")
    frozen.receive("begun", "a", "1")
    freeze(frozen.process, harness.is_locked)
    quick = harness.consumer()
    result = harness.queue.enqueue_and_wait("a", "x", timeout=TIMEOUT)
    frozen.process.send_signal(signal.SIGCONT)

    assert result["process"] == quick.process.pid
    assert frozen.terminate() == 0
    assert harness.queue.result("a") == result
    assert not [event for event in frozen.events if event[:2] == ["completed", "a"]]


def test_a_consumer_that_is_stopped_releases_its_job_at_once(harness: Harness) -> None:
    first = harness.consumer(grace=0, visibility_timeout=3600)
    harness.queue.enqueue("a", "hang")
    first.receive("begun", "a", "1")
    second = harness.consumer(visibility_timeout=3600)

    assert first.terminate() == 0

    second.receive("begun", "a", "1")
    assert [event for event in first.events if event[0] in ("requeued", "stopped")] == [
        ["requeued", "a"],
        ["stopped"],
    ]


def test_of_many_processes_that_enqueue_one_id_one_makes_a_job(harness: Harness) -> None:
    for _ in range(4):
        harness.produce("a", "x")
    consumer = harness.consumer()

    results = harness.results()

    assert consumer.terminate() == 0
    assert results == [results[0]] * 4
    assert len([event for event in consumer.events if event[:2] == ["begun", "a"]]) == 1
