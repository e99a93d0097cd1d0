"""Worker processes that are killed, suspended or stopped, and jobs that kill their worker."""

from __future__ import annotations

import pytest

from holdfast import ChainFailed, Status
from tests.event_process import TIMEOUT
from tests.freezing import freeze
from tests.leases import expire_leases
from tests.process.fleet import Fleet
from tests.process.handlers import hold, note, poison
from tests.process.harness import Harness
from tests.process.latch import Latch


def test_a_killed_worker_s_jobs_run_again_and_take_effect_once(harness: Harness, fleet: Fleet, latch: Latch) -> None:
    victim = fleet.start()
    chains = harness.client.start_many([hold.bind(number, latch.path) for number in range(4)])
    for _ in chains:
        victim.wait_for("started")

    victim.kill()
    expire_leases(harness.client.store)
    rescuer = fleet.start()

    tokens = [harness.client.wait(chain, timeout=TIMEOUT) for chain in chains]
    for _ in chains:
        rescuer.wait_for("completed")
    assert harness.ledger() == [(number, token) for number, token in enumerate(tokens)]
    for chain in chains:
        report = harness.client.report(chain.id)
        assert report is not None
        assert [(attempt.number, attempt.outcome) for attempt in report.attempts] == [(1, "lost"), (2, "completed")]


def test_a_suspended_worker_can_write_nothing_after_it_resumes(harness: Harness, fleet: Fleet, latch: Latch) -> None:
    zombie = fleet.start(lease=3.0)
    chain = harness.client.start(hold.bind(1, latch.path))
    zombie.wait_for("started")
    freeze(zombie.process, harness.is_locked)

    rescuer = fleet.start()
    token = harness.client.wait(chain, timeout=TIMEOUT)
    latch.open()
    zombie.resume()

    zombie.wait_for("lost", attempt=1)
    rescuer.wait_for("completed", attempt=2)
    assert harness.ledger() == [(1, token)]
    job = harness.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt, job.output) == (Status.COMPLETED, 2, token)


def test_sigterm_finishes_running_jobs_and_starts_no_others(harness: Harness, fleet: Fleet, latch: Latch) -> None:
    worker = fleet.start(concurrency=1, types=["hold"])
    first = harness.client.start(hold.bind(1, latch.path))
    second = harness.client.start(hold.bind(2, latch.path))
    worker.wait_for("started")

    worker.process.terminate()
    worker.wait_for("worker_stopping")
    latch.open()
    assert worker.process.wait(TIMEOUT) == 0

    finished, waiting = harness.client.get(first), harness.client.get(second)
    assert finished is not None
    assert waiting is not None
    assert finished.status is Status.COMPLETED
    assert (waiting.status, waiting.job.attempt) == (Status.PENDING, 0)


def test_a_job_that_outlasts_the_grace_period_is_released_and_its_attempt_does_not_count(
    harness: Harness, fleet: Fleet, latch: Latch
) -> None:
    worker = fleet.start(grace=0.2)
    chain = harness.client.start(hold.bind(1, latch.path))
    worker.wait_for("started")

    assert worker.terminate() == 0

    report = harness.client.report(chain.id)
    assert report is not None
    assert (report.job.status, report.job.attempt) == (Status.PENDING, 0)
    assert [attempt.outcome for attempt in report.attempts] == ["released"]
    fleet.start().wait_for("started", job_id=chain.id, attempt=1)


def test_a_poison_job_fails_after_its_attempts_while_others_complete(harness: Harness, fleet: Fleet) -> None:
    chain = harness.client.start(poison.bind())
    for _ in range(3):
        worker = fleet.start(types=["poison"])
        assert worker.process.wait(TIMEOUT) == 139
        expire_leases(harness.client.store)

    fleet.start()
    healthy = harness.client.start(note.bind(1))

    harness.client.wait(healthy, timeout=TIMEOUT)
    with pytest.raises(ChainFailed, match="lease lost"):
        harness.client.wait(chain, timeout=TIMEOUT)
    report = harness.client.report(chain.id)
    assert report is not None
    assert [(attempt.number, attempt.outcome) for attempt in report.attempts] == [(1, "lost"), (2, "lost"), (3, "lost")]
    assert report.job.status is Status.FAILED


def test_two_workers_share_the_jobs_and_run_each_job_once(harness: Harness, fleet: Fleet, latch: Latch) -> None:
    workers = [fleet.start(), fleet.start()]
    chains = harness.client.start_many([hold.bind(number, latch.path) for number in range(8)])
    for worker in workers:  # the jobs occupy all slots of both
        for _ in range(4):
            worker.wait_for("started")
    chains += harness.client.start_many([note.bind(number) for number in range(8, 300)])
    latch.open()

    tokens = [harness.client.wait(chain, timeout=TIMEOUT) for chain in chains]

    assert harness.ledger() == [(number, token) for number, token in enumerate(tokens)]
    assert all(worker.terminate() == 0 for worker in workers)
    completed = [[event for event in worker.events if event["kind"] == "completed"] for worker in workers]
    assert sum(map(len, completed)) == 300
    assert all(completed)
