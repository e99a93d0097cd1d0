"""The server crashes and comes back under worker processes: nothing is lost, and nothing takes effect twice."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Generator

import pytest

from holdfast import Chain, StoreUnavailable, SyncClient
from tests.process.fleet import Fleet
from tests.process.work import jobs, note
from tests.servers.postgres import Postgres, running_postgres


@pytest.fixture
def server() -> Generator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def client(server: Postgres) -> Generator[SyncClient]:
    with SyncClient(server.address(), jobs, migrate=True) as client:
        with server.connect() as connection:
            connection.execute("create table ledger (number integer not null, token text not null)")
        yield client


@pytest.fixture
def fleet(client: SyncClient, server: Postgres) -> Generator[Fleet]:
    fleet = Fleet(server.address())
    for _ in range(2):
        fleet.start(lease=5.0)
    yield fleet
    fleet.close()


def test_a_crash_of_the_server_under_a_fleet_loses_nothing_and_commits_nothing_twice(
    server: Postgres, client: SyncClient, fleet: Fleet
) -> None:
    accepted: dict[int, Chain[str]] = {}
    news = threading.Condition()
    stop = threading.Event()

    def produce() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                chain = client.start(note.bind(number))
            except StoreUnavailable:
                continue
            with news:
                accepted[number] = chain
                news.notify()

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        _work_goes_on(client, accepted, news)
        for how in (signal.SIGQUIT, signal.SIGINT, signal.SIGQUIT):
            server.restart(how)
            _work_goes_on(client, accepted, news)
    finally:
        stop.set()
        producer.join()

    tokens = {number: client.wait(chain, timeout=120) for number, chain in accepted.items()}
    with server.connect() as connection:
        ledger = connection.execute("select number, token from ledger").fetchall()
    assert set(Counter(number for number, _ in ledger).values()) == {1}
    # Of every job the one attempt that counts is the one whose writes are there.
    assert {number: token for number, token in ledger if number in accepted} == tokens


def _work_goes_on(client: SyncClient, accepted: dict[int, Chain[str]], news: threading.Condition) -> None:
    """Come back when jobs that are accepted from now on complete."""
    with news:
        known = len(accepted)
        assert news.wait_for(lambda: len(accepted) >= known + 20, timeout=60)
        latest = accepted[max(accepted)]
    client.wait(latest, timeout=60)
