"""The pytest fixtures of an application, on the stores other than memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.servers.postgres import shared_postgres
from tests.servers.redis import shared_redis

CONFTEST = """
import os, pytest

@pytest.fixture(params=["SQLITE", "POSTGRES", "REDIS"])
def holdfast_address(request, holdfast_address, tmp_path):
    assert holdfast_address == f"sqlite:///{tmp_path}/jobs.db"
    return holdfast_address if request.param == "SQLITE" else os.environ[request.param]
"""

TESTS = """
import pytest

from holdfast import Jobs

jobs = Jobs()


@jobs.job
async def ship(order: int) -> str:
    return f"{order} shipped"


async def test_the_next_day(holdfast_client, holdfast_drain, holdfast_clock, holdfast_store):
    client = holdfast_client(jobs)
    chain = await client.start(ship.bind(7), delay=86400)
    await holdfast_drain(client, advance=True)
    assert await client.wait(chain, timeout=60) == "7 shipped"
    assert holdfast_store.clock is holdfast_clock


@pytest.fixture
async def running(holdfast_client, holdfast_worker):
    client = holdfast_client(jobs)
    async with client, holdfast_worker(client):
        yield client
    await client.store.close()


async def test_with_a_worker_that_an_async_fixture_runs(running):
    assert await running.run(ship.bind(7), timeout=60) == "7 shipped"


def test_blocking_with_the_clock_of_the_store(holdfast_sync_client, holdfast_drain, holdfast_store):
    client = holdfast_sync_client(jobs)
    chain = client.start(ship.bind(7))
    holdfast_drain(client)
    assert client.wait(chain, timeout=60) == "7 shipped"
    assert len(client.list_chains().items) == 1
    assert holdfast_store.clock is None
"""


def test_the_fixtures_work_on_every_store_and_leave_no_schema(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_shop.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    environment = {
        **os.environ,
        "POSTGRES": shared_postgres().address(),
        "REDIS": f"redis://?socket={shared_redis().socket}",
    }

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey",
         "--holdfast-store=sqlite:///{tmp_path}/jobs.db"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip

    assert "9 passed" in done.stdout, done.stdout
    with shared_postgres().connect() as connection:
        left = connection.execute("select count(*) from pg_namespace where nspname like 'test\\_%'").fetchone()
    assert left == (0,)
