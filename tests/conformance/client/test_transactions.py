"""`tx=` and `done.tx`: jobs and the application's own rows commit together, or were never there. SQL stores only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast import AlreadyCompleted, ChainNotFound, Status, StillReferenced, SyncAttempt, SyncClient
from holdfast.stores.memory import MemoryStore
from holdfast.testing.conformance import Place
from tests.conformance.client.application import Application, run
from tests.conformance.client.conftest import emptied_postgres
from tests.conformance.client.faces import AttemptFace, Mode
from tests.conformance.client.scene import Scene, soon, value
from tests.conformance.conftest import STORES


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return emptied_postgres(tmp_path) if request.param == "postgres" else STORES[request.param](tmp_path)


@pytest.fixture
async def application(scene: Scene, tmp_path: Path) -> AsyncGenerator[Application]:
    application = Application(tmp_path if scene.store.name.startswith("sqlite") else None, scene.mode)
    async with application.running():
        yield application


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


async def test_observers_hear_nothing_of_a_transaction_they_cannot_see_the_end_of(
    scene: Scene, application: Application
) -> None:
    double = scene.jobs.job(value)

    async with application.transaction() as tx:
        await scene.client.start(double.bind(1), tx=tx)

    assert scene.told == []


async def test_a_sleeping_worker_learns_of_a_committed_start(scene: Scene, application: Application) -> None:
    double = scene.jobs.job(value)

    async with scene.worker(poll_interval=1000):
        warm = await scene.client.start(double.bind(0))
        await scene.client.wait(warm, timeout=20)
        async with application.transaction() as tx:
            chain = await scene.client.start(double.bind(7), tx=tx)
        assert await scene.client.wait(chain, timeout=20) == 7


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_handlers_rows_commit_with_its_completion(
    scene: Scene, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode) as tx:
                await application.note(tx, "prepared")
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output(number)

    chain = await scene.client.start(scene.job(charge).bind(3))
    await scene.drain()

    assert await scene.client.wait(chain, timeout=1) == 3
    assert await application.notes() == (["charged", "prepared"] if mode else ["charged"])


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
@pytest.mark.parametrize("where", ["inside", "after", "swallowed"])
async def test_an_error_undoes_the_handlers_rows(
    scene: Scene, application: Application, mode: str | None, where: str
) -> None:
    """A staged prepare is a transaction of its own, and stays; an atomic one goes the way of the completion."""

    async def charge(attempt: AttemptFace, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode) as tx:
                await application.note(tx, "prepared")
        output = None
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "charged")
                output = done.output(number)
                if where != "after":
                    raise ValueError
        except ValueError:
            if where == "inside":
                raise
            return output
        raise ValueError

    chain = await scene.client.start(scene.job(charge).bind(3), max_attempts=1)
    await scene.drain()

    assert (await scene.now(chain)).status == "failed"
    assert await application.notes() == (["prepared"] if mode == "staged" else [])


async def test_an_error_in_the_applications_sql_fails_the_attempt_and_nothing_else(
    scene: Scene, application: Application
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                await run(done.tx.execute("select no_such_column from nowhere"))
            await application.note(done.tx, "charged")
            return done.output(attempt.job.attempt)

    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain(advance=True)

    assert await scene.client.wait(chain, timeout=1) == 2
    assert await application.notes() == ["charged"]


async def test_a_swallowed_sql_error_inside_complete_cannot_commit_half(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        output = None
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "half")
                output = done.output(1)
                await run(done.tx.execute("select no_such_column from nowhere"))
        except Exception:
            return output

    chain = await scene.client.start(scene.job(charge).bind(), max_attempts=1)
    await scene.drain()

    assert (await scene.now(chain)).status == "failed"
    assert await application.notes() == []


async def test_rows_of_an_attempt_that_lost_its_claim_are_undone(scene: Scene, application: Application) -> None:
    """Completed from outside while the handler works: its rows must not stand beside the other's output."""

    async def charge(attempt: AttemptFace, number: int) -> Any:
        await _complete_elsewhere(scene, attempt.job.chain_id)
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output("mine")

    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain()

    assert await scene.client.wait(chain, timeout=1) == "theirs"
    assert await application.notes() == []


async def _complete_elsewhere(scene: Scene, chain_id: str) -> None:
    """In a thread of its own, so that an async and a plain handler can do it alike."""

    def complete() -> None:
        with SyncClient(scene.store, scene.jobs).completing(chain_id) as current:
            current.output("theirs")

    thread = threading.Thread(target=complete)
    thread.start()
    thread.join(20)


async def test_many_attempts_with_rows_of_their_own_at_once(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, f"{number:03}")
            return done.output(number)

    charging = scene.job(charge)
    await scene.client.start_many([charging.bind(number) for number in range(50)])
    await soon(scene.drain(concurrency=10))

    assert await application.notes() == [f"{number:03}" for number in range(50)]


async def test_a_client_joins_the_attempts_own_transaction(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            chain = await run(scene.client.client.start(double.bind(1), delay=1000, tx=done.tx))
            if attempt.job.attempt == 1:
                raise ValueError
            return done.output(chain.id)

    double = scene.jobs.job(value)
    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain()
    assert (await scene.client.list_chains(type=double)).items == []

    await scene.client.run_now(chain)
    await scene.drain()
    (joined,) = (await scene.client.list_chains(type=double)).items
    assert await scene.client.wait(chain, timeout=1) == joined.id


async def test_what_a_handler_completes_after_its_timeout_is_undone(scene: Scene, application: Application) -> None:
    """A plain handler cannot be stopped, and an async one may not listen; neither gets to keep its rows."""
    over = threading.Event()

    async def stubborn(attempt: AttemptFace, number: int) -> Any:
        if isinstance(attempt.attempt, SyncAttempt):
            attempt.attempt.signal.wait_sync(20)
        else:
            with suppress(asyncio.CancelledError):
                await attempt.attempt.signal.wait()
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "too late")
                return done.output("too late")
        finally:
            over.set()

    chain = await scene.client.start(scene.job(stubborn, timeout=0.05).bind(), max_attempts=1)
    await scene.drain()
    await asyncio.to_thread(over.wait, 20)

    job = await scene.now(chain)
    assert (job.status, "took longer" in str(job.error)) == ("failed", True)
    assert await application.notes() == []


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_session_of_the_applications_own_carries_the_completion(
    scene: Scene, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode, session=sessions) as session:
                await run(session.execute(application.insert(f"prepared {attempt.job.attempt}")))
        async with attempt.complete(session=sessions) as done:
            await run(done.tx.execute(application.insert(f"charged {attempt.job.attempt}")))
            await done.start(double.bind(1), delay=1000)
            output = done.output(attempt.job.attempt)
        if attempt.job.attempt == 1:
            raise ValueError
        return output

    double = scene.jobs.job(value)
    async with application.sessions() as sessions:
        chain = await scene.client.start(scene.job(charge).bind())
        await scene.drain()
        assert (await scene.client.list_chains(type=double)).items == []
        assert await application.notes() == (["prepared 1"] if mode == "staged" else [])
        await scene.client.run_now(chain)
        await scene.drain()

    prepared = {None: [], "staged": ["prepared 1", "prepared 2"], "atomic": ["prepared 2"]}[mode]
    assert await scene.client.wait(chain, timeout=1) == 2
    assert await application.notes() == ["charged 2", *prepared]
    assert len((await scene.client.list_chains(type=double)).items) == 1


async def test_a_session_of_the_wrong_kind_fails_the_attempt(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete(session=object) as done:
            return done.output(1)

    chain = await scene.client.start(scene.job(charge).bind(), max_attempts=1)
    await scene.drain()

    job = await scene.now(chain)
    assert (job.status, "TypeError" in str(job.error)) == ("failed", True)
