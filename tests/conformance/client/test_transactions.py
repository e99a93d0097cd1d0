"""`tx=`: jobs and the application's own rows commit or roll back together. SQL stores only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import AlreadyCompleted, ChainNotFound, DependencyCycle, Status, StillReferenced
from holdfast.stores.memory import MemoryStore
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import Mode
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store


async def _rolled_back(application: Application, body: Callable[[Any], Awaitable[None]]) -> None:
    """Run this in a transaction that is then rolled back."""

    async def fail() -> None:
        async with application.transaction() as tx:
            await body(tx)
            await application.note(tx, "lost")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()


async def test_a_start_commits_with_the_applications_rows(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async with application.transaction() as tx:
        await application.note(tx, "an order")
        chain = await harness.client.start(double.bind(1), tx=tx, key="order")
        many = await harness.client.start_many([double.bind(number) for number in range(2)], tx=tx)
        assert (await harness.client.get(chain, tx=tx)).status == "pending"
        assert await harness.client.get(chain) is None

    assert (await harness.client.get(chain)).key == "order"
    assert [(await harness.now(each)).status for each in many] == ["pending", "pending"]
    assert await application.notes() == ["an order"]
    await harness.drain()
    assert await harness.client.wait(chain, timeout=60) == 1


async def test_a_start_rolls_back_with_the_applications_rows(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async def body(tx: Any) -> None:
        await harness.client.start(double.bind(1), tx=tx, key="order")

    await _rolled_back(application, body)

    assert (await harness.client.list_chains()).items == []
    assert await application.notes() == []
    assert not (await harness.client.start(double.bind(1), key="order")).deduplicated


async def test_a_replacement_commits_and_rolls_back_with_the_applications_rows(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)
    first = await harness.client.start(double.bind(1), key="order", delay=60)
    behind = await harness.client.start(double.bind(9), after=[first], delay=60)

    async def body(tx: Any) -> None:
        chain = await harness.client.start(double.bind(2), key="order", replace=True, tx=tx)
        assert (chain.id, chain.deduplicated, chain.job.input) == (first.id, True, {"number": 2})

    await _rolled_back(application, body)
    assert (await harness.now(first)).input == {"number": 1}

    async with application.transaction() as tx:
        with pytest.raises(DependencyCycle):
            await harness.client.start(double.bind(3), key="order", replace=True, after=[behind], tx=tx)
        chain = await harness.client.start(double.bind(4), key="order", debounce=5, tx=tx)
        again = await harness.client.start(double.bind(5), key="order", replace=True, tx=tx)
    assert (chain.id, again.id, again.deduplicated) == (first.id, first.id, True)
    await harness.drain()
    assert await harness.client.wait(first, timeout=60) == 5


async def test_an_explanation_sees_the_writes_of_its_transaction(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)

    async with application.transaction() as tx:
        blocker = await harness.client.start(double.bind(1), tx=tx)
        chain = await harness.client.start(double.bind(1), after=[blocker], tx=tx)
        explanation = await harness.client.explain(chain, tx=tx)
        assert [reason.kind for reason in explanation.reasons] == ["blocked", "no_worker"]
        assert blocker.id in explanation.text
        assert await harness.client.workers(tx=tx) == []
        assert await harness.client.explain(chain) is None


async def test_every_read_sees_the_writes_of_its_transaction(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async with application.transaction() as tx:
        chain = await harness.client.start(double.bind(1), tx=tx)
        assert (await harness.client.get_job(chain.id, tx=tx)).id == chain.id
        assert [each.id for each in (await harness.client.list_chains(tx=tx)).items] == [chain.id]
        assert [each.id for each in (await harness.client.list_jobs(tx=tx, chain=chain)).items] == [chain.id]
        assert (await harness.client.report(chain.id, tx=tx)).attempts == []
        assert (await harness.client.stats(tx=tx)).counts[Status.PENDING] == 1
        assert (await harness.client.list_chains()).items == []


async def test_every_operation_commits_and_rolls_back_with_its_transaction(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)
    later, gone, old = [await harness.client.start(double.bind(n), delay=100) for n in range(3)]
    await harness.client.cancel(gone)

    async def operate(tx: Any) -> None:
        await harness.client.run_now(later, tx=tx)
        await harness.client.cancel(later, tx=tx)
        await harness.client.retry(gone, tx=tx)
        assert await harness.client.delete([old], tx=tx) == [old.id]

    await _rolled_back(application, operate)
    assert [(await harness.now(chain)).status for chain in (later, gone, old)] == ["pending", "cancelled", "pending"]

    async with application.transaction() as tx:
        await operate(tx)
    assert [(await harness.now(chain)).status for chain in (later, gone)] == ["cancelled", "pending"]
    assert await harness.client.get(old) is None


async def test_a_completion_commits_and_rolls_back_with_its_transaction(
    harness: ClientHarness, application: Application
) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1), delay=100)

    async def complete(tx: Any) -> None:
        async with harness.client.completing(chain, tx=tx) as current:
            await application.note(current.tx, "approved")
            await current.start(approve.bind(5))
            await current.continue_with(approve.bind(2), delay=100)

    await _rolled_back(application, complete)
    assert (await harness.now(chain)).index == 0
    assert await application.notes() == []

    async with application.transaction() as tx:
        await complete(tx)
    assert (await harness.now(chain)).index == 1
    assert len((await harness.client.list_chains()).items) == 2
    assert await application.notes() == ["approved"]


async def test_a_completion_in_its_own_transaction_includes_the_applications_rows(
    harness: ClientHarness, application: Application
) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1), delay=100)

    async def complete(*, fail: bool) -> None:
        async with harness.client.completing(chain) as current:
            await application.note(current.tx, "approved")
            await current.output(2)
            if fail:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await complete(fail=True)
    assert (await harness.now(chain)).status == "pending"
    assert await application.notes() == []

    await complete(fail=False)
    assert (await harness.now(chain)).output == 2
    assert await application.notes() == ["approved"]


async def test_a_refused_operation_leaves_the_transaction_usable(
    harness: ClientHarness, application: Application
) -> None:
    """The caller may catch the error and commit its other writes."""
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    await harness.client.start(double.bind(1), after=[blocker])
    done = await harness.client.start(double.bind(1))
    async with harness.client.completing(done) as current:
        await current.output(1)

    async def complete(tx: Any) -> None:
        async with harness.client.completing(done, tx=tx) as current:
            await current.output(1)

    async with application.transaction() as tx:
        await application.note(tx, "kept")
        with pytest.raises(ChainNotFound):
            await harness.client.start(double.bind(1), after=["nowhere"], tx=tx)
        with pytest.raises(ChainNotFound):
            await harness.client.cancel("nowhere", tx=tx)
        with pytest.raises(StillReferenced):
            await harness.client.delete([blocker], tx=tx)
        with pytest.raises(AlreadyCompleted):
            await complete(tx)
        chain = await harness.client.start(double.bind(2), tx=tx)

    assert await application.notes() == ["kept"]
    assert await harness.client.get(chain) is not None


async def test_a_connection_that_commits_each_statement_is_refused(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)
    connection = await application.connect(autocommit=True)

    try:
        with pytest.raises(ValueError, match="transaction"):
            await harness.client.start(double.bind(1), tx=connection)
    finally:
        await run(connection.close())

    assert (await harness.client.list_chains()).items == []


async def test_an_object_that_is_no_connection_is_refused_with_the_accepted_types(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)

    with pytest.raises(TypeError, match="onnection"):
        await harness.client.start(double.bind(1), tx=object())


async def test_the_wrong_kind_of_connection_is_refused(harness: ClientHarness, tmp_path: Path) -> None:
    other = Mode.SYNC if harness.mode is Mode.ASYNC else Mode.ASYNC
    application = Application(tmp_path if harness.store.name.startswith("sqlite") else None, other)
    double = harness.jobs.job(value)

    async def start() -> None:
        async with application.transaction() as tx:
            await harness.client.start(double.bind(1), tx=tx)

    with pytest.raises(TypeError, match="Client"):
        await start()


async def test_memory_has_no_transaction_to_share() -> None:
    harness = ClientHarness(MemoryStore(), Mode.ASYNC)

    with pytest.raises(TypeError, match="leave tx out"):
        await harness.client.start(harness.jobs.job(value).bind(1), tx=object())


async def test_a_committed_start_wakes_a_sleeping_worker(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async with harness.worker(poll_interval=1000):
        warm = await harness.client.start(double.bind(0))
        await harness.client.wait(warm, timeout=60)
        async with application.transaction() as tx:
            chain = await harness.client.start(double.bind(7), tx=tx)
        assert await harness.client.wait(chain, timeout=60) == 7


async def test_a_change_is_audited_with_the_commit_of_its_transaction(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(1), key="k")

    async def body(tx: Any) -> None:
        (cancelled,) = await harness.client.cancel(key="k", tx=tx)
        assert (cancelled.id, cancelled.status) == (chain.id, "cancelled")
        assert [entry.action for entry in await harness.client.audit(tx=tx)] == ["cancel"]

    await _rolled_back(application, body)
    assert await harness.client.audit() == []
    assert (await harness.now(chain)).status == "pending"

    async with application.transaction() as tx:
        await body(tx)
    assert [entry.action for entry in await harness.client.audit(chain)] == ["cancel"]
    assert (await harness.now(chain)).status == "cancelled"
