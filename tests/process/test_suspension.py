"""A worker that was suspended for longer than its lease aborts its attempts, with the reason from the store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast import Chain, Status
from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Reap, TypeTerms
from holdfast.registry.jobs import AnyJobType
from tests.event_process import TIMEOUT
from tests.freezing import freeze
from tests.process.fleet import Fleet
from tests.process.handlers import wait_for_abort, wait_for_abort_in_child, wait_for_abort_in_thread
from tests.process.harness import Harness
from tests.waiting import wait_until

HANDLERS: list[AnyJobType] = [wait_for_abort, wait_for_abort_in_thread, wait_for_abort_in_child]
REASONS = ["taken_by_another_worker", "already_completed", "cancelled", "not_found"]


def test_a_resumed_worker_aborts_its_attempts_with_the_reason_from_the_store(
    harness: Harness, fleet: Fleet, tmp_path: Path
) -> None:
    """An attempt of each kind of handler for each reason, in one worker."""
    frozen = fleet.start(lease=5.0, concurrency=len(HANDLERS) * len(REASONS), slow_store=True)
    chains = {
        (job_type.name, reason): harness.client.start(job_type.bind(str(tmp_path / f"{job_type.name} {reason}")))
        for reason in REASONS
        for job_type in HANDLERS
    }
    for name, reason in chains:
        wait_until((tmp_path / f"{name} {reason}.begun").exists)
    freeze(frozen.process, harness.is_locked)
    wait_until(lambda: all(is_expired(harness, chain.id) for chain in chains.values()))

    for job_type in HANDLERS:
        for reason in ("cancelled", "not_found"):
            harness.client.cancel(chains[job_type.name, reason])
        assert harness.client.delete([chains[job_type.name, "not_found"]])
        take_over(harness, job_type.name, chains[job_type.name, "taken_by_another_worker"])
    fleet.start()
    for job_type in HANDLERS:
        assert harness.client.wait(chains[job_type.name, "already_completed"], timeout=TIMEOUT) == "done"
    frozen.resume()

    for name, reason in chains:
        wait_until((tmp_path / f"{name} {reason}").exists)
        assert (tmp_path / f"{name} {reason}").read_text() == reason
    frozen.wait_for_each("lost", [chain.id for chain in chains.values()])
    lost = {event["job_id"]: event["detail"] for event in frozen.events if event["kind"] == "lost"}
    assert lost == {chain.id: reason for (_, reason), chain in chains.items()}
    assert frozen.terminate() == 0


def take_over(harness: Harness, type: str, chain: Chain[Any]) -> None:
    """Reap the expired jobs of a type, and claim the first one, as another worker would."""
    store = harness.client.store

    def is_reaped() -> bool:
        store.perform_sync(Reap((type,), (), 10))
        job = harness.client.get_job(chain.id)
        return job is not None and job.status is Status.PENDING

    wait_until(is_reaped)
    (claimed,) = store.perform_sync(ClaimJobs((TypeTerms(type, duration(60), 5),), 1, "another worker", new_token()))
    assert claimed.id == chain.id


def is_expired(harness: Harness, job_id: str) -> bool:
    job = harness.client.get_job(job_id)
    assert job is not None
    assert job.leased_until is not None
    return job.leased_until < datetime.now(UTC)
