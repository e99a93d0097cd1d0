"""Worker processes that are killed, suspended or stopped while they hold jobs that were claimed ahead."""

from __future__ import annotations

from pathlib import Path

from holdfast import Chain, Status
from tests.event_process import TIMEOUT
from tests.freezing import freeze
from tests.leases import expire_leases
from tests.process.fleet import Fleet, WorkerProcess
from tests.process.handlers import hold
from tests.process.harness import Harness
from tests.process.latch import Latch

SLOTS = 2
JOBS = 8


def test_a_killed_worker_s_jobs_that_had_not_begun_run_once(
    harness: Harness, fleet: Fleet, latch: Latch, tmp_path: Path
) -> None:
    victim, chains = _with_jobs_ahead(harness, fleet, latch, tmp_path)

    victim.kill()
    expire_leases(harness.client.store)
    rescuer = fleet.start()

    tokens = [harness.client.wait(chain, timeout=TIMEOUT) for chain in chains]
    assert harness.ledger()[1:] == [(number, token) for number, token in enumerate(tokens, 1)]
    rescuer.wait_for_each("completed", [chain.id for chain in chains])
    assert {event["attempt"] for event in rescuer.events if event["kind"] == "completed"} == {2}


def test_a_suspended_worker_does_not_begin_jobs_that_it_had_claimed_ahead(
    harness: Harness, fleet: Fleet, latch: Latch, tmp_path: Path
) -> None:
    zombie, chains = _with_jobs_ahead(harness, fleet, latch, tmp_path, lease=3.0)
    freeze(zombie.process, harness.is_locked)

    fleet.start()
    tokens = [harness.client.wait(chain, timeout=TIMEOUT) for chain in chains]
    latch.open()
    zombie.resume()
    zombie.wait_for_each("lost", [chain.id for chain in chains])

    started = [event["job_id"] for event in zombie.events if event["kind"] == "started"]
    assert started[1:] == [chain.id for chain in chains[:SLOTS]]
    assert harness.ledger()[1:] == [(number, token) for number, token in enumerate(tokens, 1)]
    for chain in chains:
        job = harness.client.get_job(chain.id)
        assert job is not None
        assert (job.status, job.attempt) == (Status.COMPLETED, 2)


def test_sigterm_releases_jobs_that_were_claimed_ahead_without_an_attempt(
    harness: Harness, fleet: Fleet, latch: Latch, tmp_path: Path
) -> None:
    worker, chains = _with_jobs_ahead(harness, fleet, latch, tmp_path)

    worker.process.terminate()
    worker.wait_for_each("released", [chain.id for chain in chains[SLOTS:]])
    latch.open()
    assert worker.process.wait(TIMEOUT) == 0

    jobs = [harness.client.get_job(chain.id) for chain in chains]
    found = [(job.status, job.attempt) for job in jobs if job is not None]
    assert found == [(Status.COMPLETED, 1)] * SLOTS + [(Status.PENDING, 0)] * (JOBS - SLOTS)


def _with_jobs_ahead(
    harness: Harness, fleet: Fleet, latch: Latch, folder: Path, *, lease: float = 60
) -> tuple[WorkerProcess, list[Chain[str]]]:
    """A worker whose slots are occupied, and that has claimed more jobs."""
    (folder / "open").mkdir()
    other = Latch(folder / "open")
    other.open()
    worker = fleet.start(concurrency=SLOTS, always_ahead=True, lease=lease)
    harness.client.wait(harness.client.start(hold.bind(0, other.path)), timeout=TIMEOUT)
    other.close()
    chains = harness.client.start_many([hold.bind(number, latch.path) for number in range(1, JOBS + 1)])
    worker.wait_for_each("claimed", [chain.id for chain in chains])
    worker.wait_for_each("started", [chain.id for chain in chains[:SLOTS]])
    return worker, chains
