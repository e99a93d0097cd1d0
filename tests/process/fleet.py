"""Starts worker processes, reads their events, and kills or suspends them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from typing import Any

from tests.event_process import TIMEOUT, EventProcess


class WorkerProcess(EventProcess[dict[str, Any]]):
    """A worker process. A test can wait for its events."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__("tests.process.worker", url, json.dumps(options))

    def wait_for(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """The next event of this kind, with these fields."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            event = self.next_event(deadline, f"{kind} {wanted}")
            if event["kind"] == kind and all(event[name] == value for name, value in wanted.items()):
                return event

    def wait_for_each(self, kind: str, job_ids: Collection[str]) -> None:
        """Wait until there was an event of this kind for each of these jobs, in any order."""
        deadline = time.monotonic() + TIMEOUT
        while missing := set(job_ids) - {event["job_id"] for event in self.events if event["kind"] == kind}:
            self.next_event(deadline, f"{kind} of {missing}")


class Fleet:
    """The workers of one test, on one store."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._workers: list[WorkerProcess] = []

    def start(self, **options: Any) -> WorkerProcess:
        """Start a worker and wait until it runs. Its lease is long: a busy machine may renew a short one too late."""
        worker = WorkerProcess(self.url, **{"lease": 60, "poll_interval": 0.5, "concurrency": 4} | options)
        self._workers.append(worker)
        worker.wait_for("worker_started")
        return worker

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
