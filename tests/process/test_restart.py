"""The server crashes and restarts while workers run: nothing is lost, and nothing takes effect twice."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from holdfast import Chain, StoreUnavailable, SyncClient
from tests.process.fleet import Fleet
from tests.process.handlers import jobs, note
from tests.servers.postgres import running_postgres
from tests.servers.redis import run_redis


class Producer:
    """Starts jobs continuously in a thread. `accepted` are those whose start was acknowledged."""

    def __init__(self, client: SyncClient) -> None:
        self.accepted: dict[int, Chain[str]] = {}
        self._client = client
        self._changed = threading.Condition()
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Generator[None]:
        thread = threading.Thread(target=self._produce)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def work_continues(self) -> None:
        """Wait until jobs that are accepted from now on complete."""
        with self._changed:
            known = len(self.accepted)
            assert self._changed.wait_for(lambda: len(self.accepted) >= known + 20, timeout=60)
            latest = self.accepted[max(self.accepted)]
        self._client.wait(latest, timeout=60)

    def _produce(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                chain = self._client.start(note.bind(number))
            except StoreUnavailable:
                continue
            with self._changed:
                self.accepted[number] = chain
                self._changed.notify()


@pytest.fixture
def fleet() -> Generator[Fleet]:
    """A fleet without an address: the test sets it."""
    fleet = Fleet("")
    yield fleet
    fleet.close()


def test_a_crash_of_the_server_under_a_fleet_loses_nothing_and_commits_nothing_twice(fleet: Fleet) -> None:
    with running_postgres() as server, SyncClient(server.address(), jobs, migrate=True) as client:
        with server.connect() as connection:
            connection.execute("create table ledger (number integer not null, token text not null)")
        fleet.url = server.address()
        for _ in range(2):
            fleet.start(lease=5.0)
        producer = Producer(client)
        with producer.running():
            producer.work_continues()
            for how in (signal.SIGQUIT, signal.SIGINT, signal.SIGQUIT):
                server.restart(how)
                producer.work_continues()

        tokens = {number: client.wait(chain, timeout=120) for number, chain in producer.accepted.items()}
        with server.connect() as connection:
            ledger = connection.execute("select number, token from ledger").fetchall()
        assert set(Counter(number for number, _ in ledger).values()) == {1}
        # For each job, the completed attempt is the one whose writes are committed.
        assert {number: token for number, token in ledger if number in producer.accepted} == tokens
        fleet.close()


def test_redis_and_workers_that_are_killed_lose_no_acknowledged_job_and_all_jobs_end(fleet: Fleet) -> None:
    with run_redis(appendonly="yes", appendfsync="always") as server:
        fleet.url = server.address()
        with SyncClient(fleet.url, jobs) as client:
            workers = [fleet.start(lease=2.0), fleet.start(lease=2.0)]
            producer = Producer(client)
            completed_before: list[str] = []
            with producer.running():
                for victim in workers:
                    producer.work_continues()
                    completed_before += [chain.id for chain in client.list_chains(status="completed", limit=50).items]
                    server.stop(signal.SIGKILL)
                    victim.kill()
                    server.start()
                    fleet.start(lease=2.0)
                    producer.work_continues()

            tokens = {chain.id: client.wait(chain, timeout=120) for chain in producer.accepted.values()}
            chains = {chain.id: chain for chain in _all_chains(client)}
            for chain in chains.values():
                client.wait(chain, timeout=120)

            assert tokens.keys() | set(completed_before) <= chains.keys()
            for chain_id, token in tokens.items():
                report = client.report(chain_id)
                assert report is not None
                # The output is the token of the last attempt: the job completed once, and no attempt followed.
                assert [attempt.outcome for attempt in report.attempts].count("completed") == 1
                assert (report.attempts[-1].outcome, report.job.output) == ("completed", token)
            fleet.close()


def _all_chains(client: SyncClient) -> Iterator[Chain[str]]:
    page = client.list_chains(limit=1000)
    yield from page.items
    while page.next_cursor is not None:
        page = client.list_chains(limit=1000, cursor=page.next_cursor)
        yield from page.items
