"""Two tries of a transactional step: after a commit whose answer is lost, and while a try exceeds its timeout."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast import Attempt, Client, Jobs, Retry, StoreUnavailable, SyncAttempt
from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.testing.drain import drain
from tests.process.harness import HARNESSES
from torture.watched_store import WatchedStore

TWICE = Retry(initial=0, jitter=0, max_attempts=2)
AGAIN = Retry(initial=0, jitter=0, max_attempts=100)
WITH_TRANSACTIONS = ("sqlite", "postgres")


class LostCommit(WatchedStore):
    """The answer of the first commit is lost."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, _Losing())  # type: ignore[arg-type]


class _Losing:
    def __init__(self) -> None:
        self._left = 1

    def meet(self, verb: str, when: str) -> None:
        if (verb, when) == ("commit", "after") and self._left:
            self._left -= 1
            raise StoreUnavailable("test", "the answer of the commit is lost")

    def asked(self, operation: object) -> int:
        return 0

    def answered(self, *of: object) -> None: ...

    def raised(self, *of: object) -> None: ...


def _insert(tx: Any, number: int) -> tuple[str, tuple[int, str]]:
    mark = "%s" if any(each.__module__.startswith("psycopg") for each in type(tx).__mro__) else "?"
    return f"insert into ledger (number, token) values ({mark}, {mark})", (number, "")


@pytest.mark.parametrize("store", WITH_TRANSACTIONS)
async def test_a_commit_whose_answer_is_lost_is_not_repeated(store: str, tmp_path: Path) -> None:
    jobs, calls = Jobs(), list[int]()

    async def enter(tx: Any, number: int) -> int:
        calls.append(number)
        await tx.execute(*_insert(tx, number))
        return len(calls)

    def enter_blocking(tx: Any, number: int) -> int:
        calls.append(number)
        tx.execute(*_insert(tx, number))
        return len(calls)

    @jobs.job
    async def work(attempt: Attempt) -> int:
        return await attempt.tx_step("enter", enter, 1, retry=TWICE)

    @jobs.job
    def work_blocking(attempt: SyncAttempt) -> int:
        return attempt.tx_step("enter", enter_blocking, 2, retry=TWICE)

    with HARNESSES[store](tmp_path) as harness:
        for job_type in (work, work_blocking):
            calls.clear()
            losing = LostCommit(open_store(harness.url))
            await losing.open()
            async with Client(losing, jobs) as client:
                chain = await client.start(job_type.bind())
                assert [event.kind for event in await drain(client)] == ["completed"]
                assert await client.wait(chain) == 1
            await losing.close()
            assert len(calls) == 2
        assert harness.ledger() == [(1, ""), (2, "")]


@pytest.mark.parametrize("store", WITH_TRANSACTIONS)
async def test_a_try_that_outlasts_its_timeout_releases_its_locks_and_does_not_commit(
    store: str, tmp_path: Path
) -> None:
    jobs, go_on, calls, late = Jobs(), threading.Event(), list[int](), list[BaseException]()

    def enter(tx: Any, number: int) -> int:
        calls.append(number)
        first = len(calls) == 1
        tx.execute(*_insert(tx, number))
        if first:
            go_on.wait(60)
            try:
                tx.execute(*_insert(tx, number))
            except BaseException as error:
                late.append(error)
                raise
        return len(calls)

    @jobs.job
    def work(attempt: SyncAttempt) -> int:
        return attempt.tx_step("enter", enter, 1, retry=AGAIN, timeout=0.5)

    with HARNESSES[store](tmp_path) as harness:
        async with Client(harness.url, jobs) as client:
            chain = await client.start(work.bind())
            assert [event.kind for event in await drain(client)] == ["completed"]
            go_on.set()
            # On a busy machine a later try may exceed the timeout too.
            assert await client.wait(chain) >= 2
        while not late:
            pass
        assert harness.ledger() == [(1, "")]
