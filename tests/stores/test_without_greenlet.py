"""SQLAlchemy does not install greenlet: blocking code must work without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.postgres_schemas import fresh_address
from tests.stores.postgres.app_connections import url

SOURCE = """
import sys

sys.modules["greenlet"] = None

from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from holdfast import Jobs, SyncClient

address, engine = sys.argv[1], create_engine(sys.argv[2])
jobs = Jobs()

@jobs.job
def note(number: int) -> int:
    return number

with SyncClient(address, jobs) as client:
    with Session(engine) as session:
        chain = client.start(note.bind(1), tx=session)
        session.commit()
    assert client.get(chain.id) is not None
engine.dispose()
"""


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_blocking_session_starts_a_job_where_greenlet_is_not_installed(store: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    addresses = {
        "sqlite": lambda: (f"sqlite:///{path}", f"sqlite:///{path}"),
        "postgres": lambda: (fresh_address(), url("psycopg")),
    }

    ended = subprocess.run([sys.executable, "-c", SOURCE, *addresses[store]()], stderr=subprocess.PIPE, check=False)

    assert ended.returncode == 0, ended.stderr.decode()
