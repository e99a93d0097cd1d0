"""A job that the application committed itself wakes a worker of another process."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.process.fleet import Fleet
from tests.process.handlers import note
from tests.process.harness import sqlite_harness


def test_a_job_committed_on_an_sqlite3_connection_begins_without_a_poll(tmp_path: Path) -> None:
    with sqlite_harness(tmp_path) as harness:
        fleet = Fleet(harness.url)
        worker = fleet.start(poll_interval=60, lease=60)
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
            chain = harness.client.start(note.bind(1), tx=connection)
            connection.commit()

        worker.wait_for("started", job_id=chain.id)
        fleet.close()
