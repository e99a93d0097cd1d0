"""Claims of one job of each of many lanes: sent in one pipeline, and exact beside other claims."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.core.ids import new_token
from holdfast.core.lanes import LaneRule
from holdfast.core.record import Record
from holdfast.engine.operations import CancelChains, ClaimJobs, Pause, SetLimit, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.plan import Begin, Commit, Instruction, Pipeline, Result
from holdfast.stores.postgres.verbs import claim_single_lanes
from holdfast.stores.postgres.verbs.scan_starts import ScanStarts
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import completed, new_job
from holdfast.testing.lanes import laned, limit, order
from tests.servers.postgres import Postgres
from tests.stores.postgres.waiting import wait_until_blocked
from tests.waiting import wait_until

LANES = 6
WAITING = b"select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Instruction]:
    """The instructions of all connections. Every claim tries single lanes first."""
    seen: list[Instruction] = []
    execute = SyncConnection.execute

    def always(_: ScanStarts) -> bool:
        return True

    def noting(self: SyncConnection, instruction: Instruction, /) -> Result:
        seen.append(instruction)
        return execute(self, instruction)

    monkeypatch.setattr(SyncConnection, "execute", noting)
    monkeypatch.setattr(ScanStarts, "tries_single_lanes", always)
    return seen


def claim(store: PostgresStore, number: int = LANES, *types: str) -> list[Record]:
    terms = tuple(TypeTerms(type, 60_000_000, 25) for type in types or ("resize",))
    return store.perform_sync(ClaimJobs(terms, number, "worker", new_token()))


def waiting_claim() -> str:
    """The claim waits for a lock after its statement has read the time, so after it has got its snapshot."""
    wait = "pg_advisory_xact_lock(5)::text is null as waited"
    time = "with recursive moment as materialized ( select "
    claims = claim_single_lanes._CLAIM  # pyright: ignore[reportPrivateUsage]
    assert time in claims
    return claims.replace(time, f"{time}{wait}, ")


def start(store: PostgresStore, lane: Callable[..., LaneRule], *, jobs: int = 1, type: str = "resize") -> None:
    lanes = [laned(lane(key=str(key)), type=type) for _ in range(jobs) for key in range(LANES)]
    store.perform_sync(Start(tuple(lanes)))


@pytest.mark.parametrize("lane", [limit, order])
def test_a_claim_of_many_lanes_is_one_pipeline(
    store: PostgresStore, sent: list[Instruction], lane: Callable[..., LaneRule]
) -> None:
    start(store, lane, jobs=3)
    first = claim(store)
    store.perform_sync(Settle(tuple(completed(job) for job in first)))
    sent.clear()

    second = claim(store)

    assert [type(each) for each in sent] == [Pipeline]
    assert len(first) == len(second) == LANES
    assert {job.attempt for job in second} == {1}
    store.perform_sync(Settle(tuple(completed(job) for job in second)))
    assert len(claim(store)) == LANES


def test_after_a_claim_of_many_lanes_the_next_one_tries_a_pipeline(store: PostgresStore) -> None:
    start(store, limit)
    assert len(claim(store, 3)) == 3

    starts = store.new_context().scan_starts
    assert starts.tries_single_lanes()
    assert claim(store, LANES) != []
    assert not starts.tries_single_lanes()


@pytest.mark.parametrize("hidden", ["plain", "better", "paused", "full", "empty"])
def test_a_claim_that_needs_a_decision_takes_no_job_by_the_pipeline(
    store: PostgresStore, sent: list[Instruction], hidden: str
) -> None:
    start(store, limit)
    better = laned(limit(key="0"), priority=1)
    match hidden:
        case "plain":
            store.perform_sync(Start((new_job("resize"),)))
        case "better":
            store.perform_sync(Start((better,)))
        case "paused":
            store.perform_sync(Pause(("resize",)))
        case "full":
            claim(store, 1)
            store.perform_sync(SetLimit("gpu", 0))
        case _:
            claim(store, 1)
            claim(store, LANES)
    sent.clear()

    claimed = claim(store, LANES if hidden != "full" else LANES - 1)

    assert [each for each in sent if isinstance(each, Pipeline)]
    assert len(sent) > 1
    match hidden:
        case "plain":
            assert len(claimed) == LANES
            assert [job.type for job in claimed if job.details is None] == ["resize"]
        case "better":
            assert claimed[0].id == better.id
            assert len(claimed) == LANES
        case _:
            assert claimed == []


@pytest.mark.parametrize("kind", ["limit", "order"])
def test_a_claim_waits_for_another_one_that_has_locked_a_lane(
    store: PostgresStore,
    sent: list[Instruction],
    server: Postgres,
    connection: psycopg.Connection,
    pool: ThreadPoolExecutor,
    kind: str,
) -> None:
    """The other transaction takes a job of the lane before it commits, as a claim does."""
    start(store, limit if kind == "limit" else order, jobs=2)
    store.perform_sync(Settle(tuple(completed(job) for job in claim(store))))
    lane = (limit if kind == "limit" else order)(key="3").lane
    with server.connect() as other:
        with other.transaction():
            other.execute(f'select from "{store.schema}".lane where lane = %s for update'.encode(), [lane])
            waiting = pool.submit(claim, store)
            wait_until_blocked(connection, waiting.done)
            other.execute(
                f"""update "{store.schema}".job set status = 'running', lane = %s, leased_until = 0
                     where status = 'pending' and position(%s in details) > 0""".encode(),
                [lane, '001f3"'],
            )
        claimed = waiting.result()

    assert len(claimed) == LANES - 1
    assert isinstance(sent[-1], Commit)


@pytest.mark.parametrize("lane", [limit, order])
def test_two_types_that_share_lanes_do_not_exceed_their_limits(
    store: PostgresStore,
    sent: list[Instruction],
    connection: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    lane: Callable[..., LaneRule],
) -> None:
    """The first claim waits after its second statement has got its snapshot. So the second claim finds locked lanes."""
    threads = ThreadPoolExecutor(2)
    start(store, lane)
    start(store, lane, type="publish")
    store.perform_sync(Start((laned(lane(key="admits"), type="other"),)))
    assert len(claim(store, 1, "other")) == 1  # and admits the tracks of the other types
    with monkeypatch.context() as patched:
        patched.setattr(claim_single_lanes, "_CLAIM", waiting_claim())
        connection.execute("select pg_advisory_lock(5)")
        first = threads.submit(claim, store, LANES, "resize")
        wait_until_blocked(connection, first.done)
    sent.clear()

    second = threads.submit(claim, store, LANES, "publish")
    wait_until(lambda: connection.execute(WAITING).fetchall() == [(2,)])

    kinds = [type(each) for each in sent]
    connection.execute("select pg_advisory_unlock(5)")
    assert (len(first.result()), len(second.result())) == (LANES, 0)
    assert Pipeline in kinds
    assert kinds[-1] is not Pipeline, "a pipeline must not wait: the server would commit it later"


def test_a_pipeline_does_not_wait_long_for_a_track_of_new_jobs(
    store: PostgresStore, sent: list[Instruction], connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    """If the client gave up meanwhile, the server would later claim jobs that no worker receives."""
    start(store, limit, jobs=2)
    store.perform_sync(Settle(tuple(completed(job) for job in claim(store))))
    start(store, limit)
    sent.clear()
    with connection.transaction():
        connection.execute(f'select from "{store.schema}".track for update'.encode())
        waiting = pool.submit(claim, store)

        wait_until(lambda: Pipeline in map(type, sent) and sent[-1:] != [] and type(sent[-1]) is not Pipeline)
        wait_until_blocked(connection, waiting.done)

    assert len(waiting.result()) == LANES


def test_a_job_that_is_locked_is_not_waited_for(
    store: PostgresStore, sent: list[Instruction], connection: psycopg.Connection
) -> None:
    start(store, limit)
    first = connection.execute(f'select id from "{store.schema}".job order by seq limit 1'.encode()).fetchone()
    assert first is not None
    with connection.transaction():
        connection.execute(f'select from "{store.schema}".job where id = %s for update'.encode(), first)

        claimed = claim(store)

    assert len(claimed) == LANES - 1
    store.perform_sync(CancelChains(first))
    assert claim(store) == []


@pytest.mark.parametrize("lane", [limit, order])
def test_a_job_that_gets_a_new_row_version_during_the_claim_is_claimed(
    store: PostgresStore,
    sent: list[Instruction],
    connection: psycopg.Connection,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    lane: Callable[..., LaneRule],
) -> None:
    monkeypatch.setattr(claim_single_lanes, "_CLAIM", waiting_claim())
    start(store, lane)
    store.perform_sync(Start((laned(lane(key="new")),)))
    connection.execute("select pg_advisory_lock(5)")
    waiting = pool.submit(claim, store)
    wait_until_blocked(connection, waiting.done)

    connection.execute(f'update "{store.schema}".job set priority = priority'.encode())
    connection.execute("select pg_advisory_unlock(5)")

    assert len(waiting.result()) == LANES
    assert len(claim(store)) == 1


def test_a_pipeline_whose_first_statement_fails_claims_no_job(
    store: PostgresStore, sent: list[Instruction], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(store, limit, jobs=2)
    store.perform_sync(Settle(tuple(completed(job) for job in claim(store))))
    with monkeypatch.context() as patched:
        patched.setattr(claim_single_lanes, "_ADMIT", "select 1 / (:limit::bigint - :limit::bigint), 1")
        with pytest.raises(StoreUnavailable, match="division by zero"):
            claim(store)
    assert isinstance(sent[-1], Pipeline)

    assert len(claim(store)) == LANES


@pytest.mark.parametrize("pipelines", [True, False])
def test_a_pipeline_returns_all_rows_and_ends_its_transaction(store: PostgresStore, pipelines: bool) -> None:
    connection = connect(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)
    connection.session.prepares = pipelines
    numbers = [Statement("select :now::bigint", {"now": number}) for number in range(3)]

    rows = connection.execute(Pipeline([numbers[0], Begin(), *numbers[1:]]))
    assert rows == [(0,), (1,), (2,)]
    assert connection.in_transaction

    assert connection.execute(Pipeline([numbers[0], Commit(), numbers[1]])) == [(0,), (1,)]
    assert not connection.in_transaction
    connection.close()


@pytest.mark.parametrize("first", [True, False])
def test_a_pipeline_that_fails_commits_nothing(
    store: PostgresStore, connection: psycopg.Connection, first: bool
) -> None:
    session = connect(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)
    pause = Statement("insert into holdfast.paused (type) values (:type::text)", {"type": "resize"})
    fails = Statement("select 1 / :zero::bigint", {"zero": 0})

    early, late = (
        Pipeline([Begin(), fails, Commit(), Begin(), pause, Commit()]),
        Pipeline([Begin(), pause, fails, Commit()]),
    )

    with pytest.raises(psycopg.errors.DivisionByZero):
        session.execute(early if first else late)

    state = f"select state from pg_stat_activity where pid = {session.native.info.backend_pid}"
    wait_until(lambda: connection.execute(state.encode()).fetchone() == ("idle in transaction (aborted)",))
    session.close()
    assert connection.execute(f'select count(*) from "{store.schema}".paused'.encode()).fetchone() == (0,)
