"""Wake-ups that do not come from the store: given as an object, as an address, or in the configuration file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast import Attempt, Client, ConnectedWakeups, Jobs, Store, SyncClient, Wakeups, Worker
from holdfast.cli.app import app
from holdfast.cli.settings import Flags, resolve
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sqlite import SqliteStore
from tests.servers.nats import NatsServer, shared_nats
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import RedisServer, shared_redis
from tests.wakeups.bus import BusWakeups, new_bus

TIMEOUT = 60.0
NEVER = 10_000
"""A poll interval that is longer than any test."""

jobs = Jobs()


@jobs.job
async def hello(attempt: Attempt) -> int:
    return attempt.job.attempt


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/jobs.db"


def postgres(folder: Path) -> str:
    return fresh_address()


@pytest.fixture(params=[sqlite, postgres], ids=lambda make: make.__name__)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param(tmp_path))


async def test_an_object_that_follows_the_protocol_wakes_workers(address: str) -> None:
    wakeups = BusWakeups(f"bus://{new_bus()}")
    wakeups.open()

    async with (
        Client(address, jobs, wakeups=wakeups) as there,
        Worker(there, poll_interval=NEVER),
        Client(address, jobs, wakeups=wakeups) as here,
    ):
        assert await here.run(hello.bind(), timeout=TIMEOUT) == 1

    assert any("hello" in hints.due for hints in wakeups.sent)
    assert wakeups.healthy  # the client does not close an object that the application created


@pytest.mark.parametrize("bus", [shared_redis, shared_nats], ids=["through redis", "through nats"])
async def test_a_bus_wakes_the_workers_of_a_sql_store(
    address: str, bus: Callable[[], RedisServer | NatsServer]
) -> None:
    wakeups = bus().address()

    async with Client(address, jobs, wakeups=wakeups) as there, Worker(there, poll_interval=NEVER):
        with SyncClient(address, jobs, wakeups=wakeups) as here:
            for _ in range(3):
                chain = here.start(hello.bind())
                assert await there.wait(chain, timeout=TIMEOUT) == 1
        assert there.store.wakeups.healthy


def test_a_package_adds_an_address_scheme(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bus-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: bus\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[holdfast.wakeups]\nbus = tests.wakeups.bus:BusWakeups\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    client = SyncClient(address, jobs, wakeups=f"bus://{new_bus()}")

    wakeups = client.store.wakeups
    assert isinstance(wakeups, ConnectedWakeups)
    assert not wakeups.healthy
    with client:
        assert wakeups.healthy
        client.start(hello.bind())
    assert not wakeups.healthy


def test_an_invalid_address_is_refused_without_showing_the_password(tmp_path: Path) -> None:
    secret = "redis://:hunter2@localhost"
    store: Store = MemoryStore()

    for wrong, wakeups in (
        ("memory://", secret),
        ("redis://localhost", secret),
        (store, secret),
        (sqlite(tmp_path), "amqp://:hunter2@localhost"),
        (sqlite(tmp_path), "nats://:hunter2@localhost?unknown=option"),
        (sqlite(tmp_path), "nats://hunter2@localhost?creds=file"),
        ("redis://localhost", "nats://hunter2@localhost"),
        (sqlite(tmp_path), "hunter2"),
        (sqlite(tmp_path), "redis://:hunter2@localhost?unknown=option"),
    ):
        with pytest.raises(ValueError, match=r".") as refusal:
            Client(wrong, wakeups=wakeups)
        assert "hunter2" not in str(refusal.value)


def test_the_address_of_a_store_may_name_its_wake_ups(address: str) -> None:
    both = f"{address}{'&' if '?' in address else '?'}wakeups=redis://:hunter2@localhost:1?timeout=1"

    client = SyncClient(both, jobs)

    wakeups = client.store.wakeups
    assert isinstance(wakeups, ConnectedWakeups)
    assert wakeups.name == "redis://localhost:1/0?namespace=holdfast"
    assert "hunter2" not in client.store.name + repr(client.store)


def test_the_configuration_file_names_wake_ups_and_no_command_shows_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "holdfast.toml"
    file.write_text('store = "sqlite:///jobs.db"\nwakeups = "redis://:hunter%402@localhost:1"\n')
    with SyncClient("sqlite:///jobs.db"):
        pass  # creates the file

    shown = CliRunner().invoke(app, ["config"], env={"COLUMNS": "500"}).stdout
    reported = CliRunner().invoke(app, ["doctor"], env={"COLUMNS": "500"}).stdout

    wakeups: Wakeups = SqliteStore(resolve(Flags(config=file), {}).need_store()).wakeups
    assert isinstance(wakeups, ConnectedWakeups)
    assert wakeups.name == "redis://localhost:1/0?namespace=holdfast"
    assert 'wakeups = "redis://:***@localhost:1"' in shown
    assert "workers poll every second" in reported
    assert "hunter" not in shown + reported
