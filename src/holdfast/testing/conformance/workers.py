"""Live workers: each reports itself, and counts as gone without a report."""

from __future__ import annotations

from typing import Any

from holdfast.core.clock import SECOND
from holdfast.core.worker_record import GONE_AFTER, PRUNED_AFTER, WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, WorkerReport
from holdfast.engine.wakeups import Hints
from holdfast.testing.builders import completed, new_job
from holdfast.testing.conformance.harness import Harness


def _worker(id: str = "worker-1", **fields: Any) -> WorkerRecord:
    usual: dict[str, Any] = {"host": "server", "pid": 4711, "types": ("resize",), "concurrency": 10}
    return WorkerRecord(id, **(usual | fields))


async def _report(harness: Harness, worker: WorkerRecord) -> WorkerReport:
    return await harness.perform(ReportWorker(worker))


async def _ids(harness: Harness) -> list[str]:
    return [worker.id for worker in await harness.perform(GetWorkers())]


async def every_field_of_a_worker_is_kept(harness: Harness) -> None:
    now = harness.clock()
    worker = _worker(
        host='ho"st', pid=2**31, types=("resize", "send ü"), concurrency=500, registry="shop", details='{"a": [1, "ü"]}'
    )

    report = await _report(harness, worker)

    assert report == WorkerReport(now, draining=False)
    (found,) = await harness.perform(GetWorkers())
    assert found == WorkerRecord(
        "worker-1", 'ho"st', 2**31, ("resize", "send ü"), 500, "shop", '{"a": [1, "ü"]}', now, now, False, 0
    )


async def a_store_without_workers_lists_none(harness: Harness) -> None:
    await harness.started()

    assert await harness.perform(GetWorkers()) == []


async def workers_are_listed_in_the_order_of_their_start(harness: Harness) -> None:
    for id in ("b", "c", "a"):
        await _report(harness, _worker(id))
        harness.clock.advance(1)

    assert await _ids(harness) == ["b", "c", "a"]


async def a_refresh_changes_when_the_worker_was_seen_and_not_when_it_started(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    harness.clock.advance(30)

    report = await _report(harness, _worker(started_at=began, concurrency=7))

    assert report.started_at == began
    (found,) = await harness.perform(GetWorkers())
    assert (found.started_at, found.seen_at, found.concurrency) == (began, harness.clock(), 7)


async def a_worker_without_a_report_is_gone_and_returns_with_its_next_one(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    harness.clock.advance(GONE_AFTER / SECOND)
    assert await _ids(harness) == ["worker-1"]

    harness.clock.advance(0.001)
    assert await _ids(harness) == []

    await _report(harness, _worker(started_at=began))
    assert await _ids(harness) == ["worker-1"]


async def a_worker_that_was_pruned_is_created_again_with_its_start(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    harness.clock.advance(PRUNED_AFTER / SECOND + 1)
    await _report(harness, _worker("other"))

    await _report(harness, _worker(started_at=began))

    found = {worker.id: worker.started_at for worker in await harness.perform(GetWorkers())}
    assert found["worker-1"] == began
    assert len(found) == 2


async def a_removed_worker_is_not_listed(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    await _report(harness, _worker("other"))

    await harness.perform(RemoveWorker("worker-1", began))
    await harness.perform(RemoveWorker("unknown", began))

    assert await _ids(harness) == ["other"]


async def a_later_worker_with_the_same_id_replaces_the_row_of_the_earlier_one(harness: Harness) -> None:
    first = (await _report(harness, _worker(pid=1))).started_at
    harness.clock.advance(1)
    second = (await _report(harness, _worker(pid=2))).started_at

    # The earlier worker still runs: neither its report nor its removal touches the row of the later one.
    assert await _report(harness, _worker(pid=1, started_at=first)) == WorkerReport(first, draining=False)
    await harness.perform(RemoveWorker("worker-1", first))

    (found,) = await harness.perform(GetWorkers())
    assert (found.pid, found.started_at) == (2, second)


async def every_report_of_a_drained_worker_says_so(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    await _report(harness, _worker("other"))

    assert await harness.perform(DrainWorker("worker-1")) is True

    assert {worker.id: worker.draining for worker in await harness.perform(GetWorkers())} == {
        "worker-1": True,
        "other": False,
    }
    for _ in range(2):
        assert await _report(harness, _worker(started_at=began)) == WorkerReport(began, draining=True)


async def a_worker_that_reports_itself_as_draining_is_listed_so(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at

    assert await _report(harness, _worker(started_at=began, draining=True)) == WorkerReport(began, draining=True)

    (found,) = await harness.perform(GetWorkers())
    assert found.draining


async def a_new_worker_does_not_inherit_the_drain_of_an_earlier_one_with_its_id(harness: Harness) -> None:
    await _report(harness, _worker())
    await harness.perform(DrainWorker("worker-1"))
    harness.clock.advance(1)

    report = await _report(harness, _worker())

    assert report == WorkerReport(harness.clock(), draining=False)
    assert not (await harness.perform(GetWorkers()))[0].draining


async def an_unknown_or_gone_worker_cannot_be_drained(harness: Harness) -> None:
    began = (await _report(harness, _worker())).started_at
    harness.clock.advance(GONE_AFTER / SECOND + 1)

    assert await harness.perform(DrainWorker("worker-1")) is False
    assert await harness.perform(DrainWorker("unknown")) is False

    assert not (await _report(harness, _worker(started_at=began))).draining


async def the_running_jobs_of_each_worker_are_counted(harness: Harness) -> None:
    await _report(harness, _worker("one", types=("resize", "send")))
    await _report(harness, _worker("two"))
    await harness.start(*(new_job() for _ in range(5)), new_job("send"))
    jobs = await harness.claim("resize", "send", limit=4, worker="one")
    await harness.claim(limit=1, worker="two")
    await harness.claim("resize", "send", limit=1, worker="unlisted")
    await harness.settle(completed(jobs[0]))

    found = {worker.id: worker.busy for worker in await harness.perform(GetWorkers())}

    assert found == {"one": 3, "two": 1}


async def workers_are_read_in_a_transaction(harness: Harness) -> None:
    await _report(harness, _worker())
    tx = await harness.begin()

    found = await tx.perform(GetWorkers())

    await tx.rollback()
    assert [worker.id for worker in found] == ["worker-1"]


async def a_report_sends_no_hint(harness: Harness) -> None:
    received: list[Hints] = []
    unsubscribe = harness.store.wakeups.subscribe(received.append)
    try:
        report = await _report(harness, _worker())
        before = len(received)  # the store may have sent `anything` when the subscription began
        for _ in range(3):
            await _report(harness, _worker(started_at=report.started_at))
        await harness.perform(RemoveWorker("worker-1", report.started_at))
    finally:
        unsubscribe()

    assert all(hints.anything for hints in received[before:])


async def many_workers_report_themselves_at_the_same_time(harness: Harness) -> None:
    """Each also prunes the rows of gone workers, among them its own old one."""
    for number in range(8):
        await _report(harness, _worker(f"worker-{number}"))
    harness.clock.advance(PRUNED_AFTER / SECOND + 1)

    answers = await harness.race([_report(harness, _worker(f"worker-{number}")) for number in range(8)])

    assert [answer.started_at for answer in answers if isinstance(answer, WorkerReport)] == [harness.clock()] * 8
    assert sorted(await _ids(harness)) == [f"worker-{number}" for number in range(8)]
