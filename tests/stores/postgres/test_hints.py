"""Hints of committed operations are sent to all processes, even if the answer of the operation was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from holdfast.core.ids import new_id, new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, Operation, Settle, Start, TypeTerms
from holdfast.engine.wakeups import Hints
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.plan import Result
from holdfast.stores.postgres.rows import SQL
from holdfast.testing.builders import completed, continued, new_job, next_job
from tests.waiting import wait_until

TERMS = (TypeTerms("resize", 60_000_000, 25),)

Act = Callable[[Record], Operation[Any]]


@pytest.fixture
def other(address: str) -> Iterator[PostgresStore]:
    """The store of another process."""
    other = PostgresStore(address)
    other.open_sync()
    yield other
    other.close_sync()


def claim(store: PostgresStore, count: int) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, count, "worker", new_token()))


def receive(store: PostgresStore) -> Hints:
    """All hints that the subscribers of a store receive from now on."""
    received = Hints()
    store.wakeups.subscribe(received.add)
    return received


def cut(monkeypatch: pytest.MonkeyPatch, verb: str) -> list[str]:
    """Lose the answer of the next statement with this name. The list then contains the name."""
    send, lost = SyncConnection.send, list[str]()

    def cutting(self: SyncConnection, instruction: Any) -> Result:
        result = send(self, instruction)
        if getattr(instruction, "sql", None) == SQL[verb] and not lost:
            lost.append(verb)
            raise psycopg.OperationalError("the connection is lost")
        return result

    monkeypatch.setattr(SyncConnection, "send", cutting)
    return lost


def start(job: Record) -> Operation[Any]:
    return Start((new_job("second", id=new_id()),))


def start_with_key(job: Record) -> Operation[Any]:
    return Start((new_job("second", key="one"),))


def continue_chain(job: Record) -> Operation[Any]:
    return Settle((continued(job, next_job(job, "second")),))


def start_with_completion(job: Record) -> Operation[Any]:
    return Settle((completed(job, starts=(new_job("second"),)),))


@pytest.mark.parametrize(
    ("act", "verb"),
    [(start, "insert_job"), (start_with_key, "insert_jobs"), (continue_chain, "settle_continued")],
)
def test_hints_are_sent_to_all_processes_if_the_answer_is_lost(
    act: Act, verb: str, store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.perform_sync(Start((new_job(),)))
    (job,) = claim(store, 1)
    here, there = receive(store), receive(other)
    lost = cut(monkeypatch, verb)

    store.perform_sync(act(job))

    assert lost == [verb]
    assert "second" in here.due
    wait_until(lambda: "second" in there.due)


@pytest.mark.parametrize("act", [start, start_with_key, continue_chain, start_with_completion])
def test_a_repeated_operation_sends_its_hints_again(act: Act, store: PostgresStore) -> None:
    store.perform_sync(Start((new_job(),)))
    (job,) = claim(store, 1)
    operation = act(job)
    store.perform_sync(operation)
    received = receive(store)

    store.perform_sync(operation)

    assert "second" in received.due


def test_a_repeated_completion_of_an_awaited_chain_sends_anything(store: PostgresStore) -> None:
    blocker = new_job()
    store.perform_sync(Start((blocker, new_job("second", after=(blocker.id,)))))
    (job,) = claim(store, 1)
    store.perform_sync(Settle((completed(job),)))
    received = receive(store)

    store.perform_sync(Settle((completed(job),)))

    assert received.anything
    assert received.finished == {job.chain_id}


@pytest.mark.parametrize("same", [True, False], ids=["in one statement", "in two statements"])
def test_hints_of_committed_statements_are_sent_if_a_later_statement_fails(
    same: bool, address: str, store: PostgresStore, connection: psycopg.Connection
) -> None:
    hasty = PostgresStore(f"{address}&deadline=1")
    hasty.open_sync()
    store.perform_sync(Start((new_job(), new_job())))
    first, busy = claim(store, 2)
    written = completed(first) if same else continued(first, next_job(first, "second"))
    received = receive(hasty)
    with connection.transaction():
        connection.execute(f'select from "{store.schema}".job where id = %s for update'.encode(), [busy.id])

        with pytest.raises(StoreUnavailable):
            hasty.perform_sync(Settle((written, completed(busy))))

    assert first.chain_id in received.finished if same else "second" in received.due
    hasty.close_sync()


def test_a_job_settled_twice_in_one_batch_sends_the_hint_of_the_unblocked_job(
    store: PostgresStore, other: PostgresStore
) -> None:
    blocker = new_job()
    there = receive(other)
    store.perform_sync(Start((blocker, new_job("second", after=(blocker.id,)))))
    (job,) = claim(store, 1)
    wait_until(lambda: "resize" in there.due)  # no hint is pending, so a single settlement would pipeline its NOTIFY

    store.perform_sync(Settle((completed(job), completed(job))))

    wait_until(lambda: "second" in there.due)


def test_a_repeated_completion_sends_its_hint_to_other_processes(store: PostgresStore, other: PostgresStore) -> None:
    store.perform_sync(Start((new_job(),)))
    (job,) = claim(store, 1)
    before = receive(other)
    store.perform_sync(Settle((completed(job),)))
    wait_until(lambda: job.chain_id in before.finished)
    again = receive(other)

    store.perform_sync(Settle((completed(job),)))

    wait_until(lambda: job.chain_id in again.finished)


def test_names_outside_ascii_are_received_with_any_client_encoding(address: str) -> None:
    here, elsewhere = (PostgresStore(f"{address}&client_encoding=latin1") for _ in range(2))
    for each in (here, elsewhere):
        each.open_sync()
    there = receive(elsewhere)

    here.perform_sync(Start((new_job("größe"),)))
    wait_until(lambda: "größe" in there.due)  # sent by a session for verbs
    here.send(Hints(finished={"größe"}))
    wait_until(lambda: "größe" in there.finished)  # sent by the session that listens

    for each in (here, elsewhere):
        each.close_sync()
