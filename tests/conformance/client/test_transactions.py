"""`tx=`: jobs and the application's own rows commit together, or were never there. SQL stores only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import AlreadyCompleted, ChainNotFound, Status, StillReferenced
from holdfast.stores.memory import MemoryStore
from tests.conformance.client.application import Application, run
from tests.conformance.client.faces import Mode
from tests.conformance.client.scene import Scene, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import place as place


async def _rolled_back(application: Application, body: Callable[[Any], Awaitable[None]]) -> None:
    """Do this in a transaction that then fails."""

    async def fail() -> None:
        async with application.transaction() as tx:
            await body(tx)
            await application.note(tx, "lost")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()


async def test_a_start_commits_with_the_applications_rows(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)

    async with application.transaction() as tx:
        await application.note(tx, "an order")
        chain = await scene.client.start(double.bind(1), tx=tx, key="order")
        many = await scene.client.start_many([double.bind(number) for number in range(2)], tx=tx)
        assert (await scene.client.get(chain, tx=tx)).status == "pending"
        assert await scene.client.get(chain) is None

    assert (await scene.client.get(chain)).key == "order"
    assert [(await scene.now(each)).status for each in many] == ["pending", "pending"]
    assert await application.notes() == ["an order"]
    await scene.drain()
    assert await scene.client.wait(chain, timeout=1) == 1


async def test_a_start_rolls_back_with_the_applications_rows(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)

    async def body(tx: Any) -> None:
        await scene.client.start(double.bind(1), tx=tx, key="order")

    await _rolled_back(application, body)

    assert (await scene.client.list_chains()).items == []
    assert await application.notes() == []
    assert not (await scene.client.start(double.bind(1), key="order")).deduplicated


async def test_every_reading_sees_what_its_transaction_did(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)

    async with application.transaction() as tx:
        chain = await scene.client.start(double.bind(1), tx=tx)
        assert (await scene.client.get_job(chain.id, tx=tx)).id == chain.id
        assert [each.id for each in (await scene.client.list_chains(tx=tx)).items] == [chain.id]
        assert [each.id for each in (await scene.client.list_jobs(tx=tx, chain=chain)).items] == [chain.id]
        assert (await scene.client.report(chain.id, tx=tx)).attempts == []
        assert (await scene.client.stats(tx=tx)).counts[Status.PENDING] == 1
        assert (await scene.client.list_chains()).items == []


async def test_every_operation_commits_and_rolls_back_with_its_transaction(
    scene: Scene, application: Application
) -> None:
    double = scene.jobs.job(value)
    later, gone, old = [await scene.client.start(double.bind(n), delay=100) for n in range(3)]
    await scene.client.cancel(gone)

    async def operate(tx: Any) -> None:
        await scene.client.run_now(later, tx=tx)
        await scene.client.cancel(later, tx=tx)
        await scene.client.retry(gone, tx=tx)
        assert await scene.client.delete([old], tx=tx) == [old.id]

    await _rolled_back(application, operate)
    assert [(await scene.now(chain)).status for chain in (later, gone, old)] == ["pending", "cancelled", "pending"]

    async with application.transaction() as tx:
        await operate(tx)
    assert [(await scene.now(chain)).status for chain in (later, gone)] == ["cancelled", "pending"]
    assert await scene.client.get(old) is None


async def test_a_completion_commits_and_rolls_back_with_its_transaction(scene: Scene, application: Application) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1), delay=100)

    async def complete(tx: Any) -> None:
        async with scene.client.completing(chain, tx=tx) as current:
            await application.note(current.tx, "approved")
            await current.start(approve.bind(5))
            await current.continue_with(approve.bind(2), delay=100)

    await _rolled_back(application, complete)
    assert (await scene.now(chain)).index == 0
    assert await application.notes() == []

    async with application.transaction() as tx:
        await complete(tx)
    assert (await scene.now(chain)).index == 1
    assert len((await scene.client.list_chains()).items) == 2
    assert await application.notes() == ["approved"]


async def test_a_completion_of_its_own_carries_the_applications_rows(scene: Scene, application: Application) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1), delay=100)

    async def complete(*, fail: bool) -> None:
        async with scene.client.completing(chain) as current:
            await application.note(current.tx, "approved")
            await current.output(2)
            if fail:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await complete(fail=True)
    assert (await scene.now(chain)).status == "pending"
    assert await application.notes() == []

    await complete(fail=False)
    assert (await scene.now(chain)).output == 2
    assert await application.notes() == ["approved"]


async def test_a_refused_operation_leaves_the_transaction_usable(scene: Scene, application: Application) -> None:
    """The mistake is the caller's to handle: what else it wrote can still be committed."""
    double = scene.jobs.job(value)
    blocker = await scene.client.start(double.bind(1))
    await scene.client.start(double.bind(1), after=[blocker])
    done = await scene.client.start(double.bind(1))
    async with scene.client.completing(done) as current:
        await current.output(1)

    async def complete(tx: Any) -> None:
        async with scene.client.completing(done, tx=tx) as current:
            await current.output(1)

    async with application.transaction() as tx:
        await application.note(tx, "kept")
        with pytest.raises(ChainNotFound):
            await scene.client.start(double.bind(1), after=["nowhere"], tx=tx)
        with pytest.raises(ChainNotFound):
            await scene.client.cancel("nowhere", tx=tx)
        with pytest.raises(StillReferenced):
            await scene.client.delete([blocker], tx=tx)
        with pytest.raises(AlreadyCompleted):
            await complete(tx)
        chain = await scene.client.start(double.bind(2), tx=tx)

    assert await application.notes() == ["kept"]
    assert await scene.client.get(chain) is not None


async def test_a_connection_that_commits_each_statement_is_refused(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)
    connection = await application.connect(autocommit=True)

    try:
        with pytest.raises(ValueError, match="transaction"):
            await scene.client.start(double.bind(1), tx=connection)
    finally:
        await run(connection.close())

    assert (await scene.client.list_chains()).items == []


async def test_what_is_no_connection_is_refused_with_what_is_taken(scene: Scene) -> None:
    double = scene.jobs.job(value)

    with pytest.raises(TypeError, match="onnection"):
        await scene.client.start(double.bind(1), tx=object())


async def test_the_wrong_kind_of_connection_is_refused(scene: Scene, tmp_path: Path) -> None:
    other = Mode.SYNC if scene.mode is Mode.ASYNC else Mode.ASYNC
    application = Application(tmp_path if scene.store.name.startswith("sqlite") else None, other)
    double = scene.jobs.job(value)

    async def start() -> None:
        async with application.transaction() as tx:
            await scene.client.start(double.bind(1), tx=tx)

    with pytest.raises(TypeError, match="Client"):
        await start()


async def test_memory_has_no_transaction_to_share() -> None:
    scene = Scene(MemoryStore(), Mode.ASYNC)

    with pytest.raises(TypeError, match="leave tx out"):
        await scene.client.start(scene.jobs.job(value).bind(1), tx=object())


async def test_a_sleeping_worker_learns_of_a_committed_start(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)

    async with scene.worker(poll_interval=1000):
        warm = await scene.client.start(double.bind(0))
        await scene.client.wait(warm, timeout=20)
        async with application.transaction() as tx:
            chain = await scene.client.start(double.bind(7), tx=tx)
        assert await scene.client.wait(chain, timeout=20) == 7
