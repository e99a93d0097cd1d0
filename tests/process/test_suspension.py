"""A worker that was suspended for longer than its lease aborts its attempts, with the reason from the store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Reap, TypeTerms
from holdfast.registry.jobs import AnyJobType
from tests.freezing import freeze
from tests.process.fleet import TIMEOUT, Fleet
from tests.process.handlers import wait_for_abort, wait_for_abort_in_child, wait_for_abort_in_thread
from tests.process.harness import Harness
from tests.waiting import wait_until

HANDLERS = [wait_for_abort, wait_for_abort_in_thread, wait_for_abort_in_child]


@pytest.mark.parametrize("job_type", HANDLERS, ids=lambda job_type: job_type.name)
@pytest.mark.parametrize("reason", ["already_completed", "taken_by_another_worker", "cancelled", "not_found"])
def test_a_resumed_worker_aborts_its_attempts_with_the_reason_from_the_store(
    harness: Harness, fleet: Fleet, tmp_path: Path, job_type: AnyJobType, reason: str
) -> None:
    reasons = tmp_path / "reasons"
    frozen = fleet.start(lease=2.0)
    chain = harness.client.start(job_type.bind(str(reasons)))
    frozen.wait_for("started", attempt=1)
    wait_until(Path(f"{reasons}.begun").exists)
    freeze(frozen.process, harness.is_locked)
    wait_until(lambda: is_expired(harness, chain.id))

    match reason:
        case "already_completed":
            rescuer = fleet.start(lease=2.0)
            assert harness.client.wait(chain, timeout=TIMEOUT) == "done"
            rescuer.wait_for("completed", attempt=2)
        case "taken_by_another_worker":
            store = harness.client.store
            wait_until(lambda: bool(store.perform_sync(Reap((job_type.name,), (), 1))))
            terms = TypeTerms(job_type.name, duration(60), 5)
            assert store.perform_sync(ClaimJobs((terms,), 1, "another worker", new_token()))
        case _:
            harness.client.cancel(chain.id)
            if reason == "not_found":
                assert harness.client.delete([chain.id]) == [chain.id]
    frozen.resume()

    wait_until(reasons.exists)
    assert reasons.read_text() == reason
    assert frozen.wait_for("lost", attempt=1)["detail"] == reason
    assert frozen.terminate() == 0


def is_expired(harness: Harness, job_id: str) -> bool:
    job = harness.client.get_job(job_id)
    assert job is not None
    assert job.leased_until is not None
    return job.leased_until < datetime.now(UTC)
