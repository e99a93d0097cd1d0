"""The cost of the frequent statements does not grow with the number of other rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from pathlib import Path

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, Filter, ListJobs, Settle, Start, TypeTerms
from holdfast.stores.sql.plan import PlanContext, Statement
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import list_jobs
from holdfast.testing.builders import completed, new_job
from holdfast.testing.lanes import laned, limit, order

DUE = "INDEX holdfast_job_due (status=? AND type=? AND track_seq=?"

BY_INDEX = {
    "claim_heads": f"SEARCH job USING COVERING {DUE})",
    "claim_next_head": f"USING COVERING {DUE} AND priority<?)",
    "claim_due": f"{DUE} AND priority=? AND scheduled_at<?)",
    "track_job": f"SEARCH first USING COVERING {DUE} AND priority=? AND scheduled_at<?)",
    "track_jobs": f"SEARCH first USING COVERING {DUE} AND priority=? AND scheduled_at<?)",
    "limit_tracks": f"SEARCH first USING COVERING {DUE} AND priority=? AND scheduled_at<?)",
    "order_tracks": "SEARCH front USING INTEGER PRIMARY KEY (rowid=?)",
    "claim": "USING INTEGER PRIMARY KEY (rowid=?)",
    "records": "USING INTEGER PRIMARY KEY (rowid=?)",
    "claims": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "renew": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "reap_expired": "USING INDEX holdfast_job_leased (status=? AND type=? AND leased_until<?)",
    "settle_claims": "SEARCH job USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "settle_completed": "USING INTEGER PRIMARY KEY (rowid=?)",
    "start_one": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "find_ids": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "find_key": "SEARCH first USING INDEX holdfast_job_key (key=? AND type=?)",
    "chains": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "chain_statuses": "SEARCH first USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "waiting_for": "SEARCH blocker USING COVERING INDEX holdfast_blocker_chain (chain_id=?)",
    "dependents": "USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)",
    "broken_dependents": "SEARCH blocker USING COVERING INDEX holdfast_blocker_chain (chain_id=?)",
    "prune_expired": "SEARCH last USING COVERING INDEX holdfast_job_expires (expires_at<?)",
    "next_due_pending": f"job USING COVERING {DUE} AND priority=?)",
    "next_due_leased": "SEARCH job USING COVERING INDEX holdfast_job_leased (status=? AND type=?)",
    "stats_scheduled": f"SEARCH job USING COVERING {DUE} AND priority=? AND scheduled_at>?)",
    "stats_laned": "SEARCH job USING COVERING INDEX holdfast_job_due (status=? AND type=? AND track_seq>?)",
    "stats_counted": "USING COVERING INDEX holdfast_job_leased (status=?)",
    "explain_job": "SEARCH holdfast_job USING INTEGER PRIMARY KEY (rowid=?)",
    "explain_earlier": f"{DUE} AND priority=? AND scheduled_at<?)",
    "explain_older": f"{DUE} AND priority=? AND scheduled_at=? AND rowid<?)",
    "explain_next_priority": f"USING COVERING {DUE} AND priority>?)",
    "explain_blockers": "SEARCH blocker USING PRIMARY KEY (job_id=?)",
    "busy_workers": "USING INDEX holdfast_job_leased (status=?)",
    "take_write_lock": "SCAN holdfast_migration",
}

SORTED_BY_INDEX = ["claim_heads", "claim_next_head", "claim_due", "reap_expired", "prune_expired", "find_key"]


@pytest.fixture
def connection(path: Path, store: SqliteStore) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


_TYPES = (TypeTerms("resize", 60_000_000, 25),)


def _drain(store: SqliteStore) -> None:
    store.perform_sync(Start(tuple(new_job() for _ in range(3000))))
    for rule in (limit, order):
        store.perform_sync(Start(tuple(laned(rule(key=str(number % 200))) for number in range(600))))
    while claimed := store.perform_sync(ClaimJobs(_TYPES, 1000, "worker", new_token())):
        store.perform_sync(Settle(tuple(completed(job) for job in claimed)))


def explain(connection: sqlite3.Connection, sql: str) -> str:
    lists = dict.fromkeys(("ids", "types", "seqs", "exclude", "chains", "tracks"), "[]")
    named = re.findall(r":(\w+)", sql)
    parameters = dict.fromkeys(named, 1) | lists if named else [1] * sql.count("?")
    return "\n".join(row[3] for row in connection.execute(f"explain query plan {sql}", parameters))


@pytest.mark.parametrize("name", BY_INDEX)
def test_a_hot_statement_uses_its_index(name: str, connection: sqlite3.Connection) -> None:
    plan = explain(connection, SQL[name])

    assert BY_INDEX[name] in plan
    assert not re.search(r"SCAN (holdfast_job|job|first|last)\b", plan)


@pytest.mark.parametrize("name", SORTED_BY_INDEX)
def test_the_order_comes_from_the_index(name: str, connection: sqlite3.Connection) -> None:
    assert "TEMP B-TREE" not in explain(connection, SQL[name])


@pytest.mark.parametrize("pending", [0, 3])
def test_statistics_of_a_drained_queue_do_not_change_the_plans(
    pending: int, store: SqliteStore, connection: sqlite3.Connection
) -> None:
    """An application may collect them by ANALYZE or PRAGMA optimize."""
    _drain(store)
    store.perform_sync(Start(tuple(laned(limit(key=str(number))) for number in range(pending))))
    store.perform_sync(Start(tuple(new_job() for _ in range(pending))))

    connection.execute("analyze")

    assert [name for name, index in BY_INDEX.items() if index not in explain(connection, SQL[name])] == []
    assert [name for name in SORTED_BY_INDEX if "TEMP B-TREE" in explain(connection, SQL[name])] == []


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.COMPLETED])
def test_listing_few_jobs_does_not_read_the_completed_ones(status: Status, connection: sqlite3.Connection) -> None:
    plan = list_jobs.list_jobs(PlanContext(1), ListJobs(Filter(statuses=(status,)), 50))
    statement = next(plan)
    assert isinstance(statement, Statement)
    if status is not Status.RUNNING:
        # The newest jobs come first: a fixed number of them.
        assert "SEARCH job USING INTEGER PRIMARY KEY (rowid>?)" in explain(connection, statement.sql)
        statement = plan.send([])
        assert isinstance(statement, Statement)

    assert "USING COVERING INDEX holdfast_job_" in explain(connection, statement.sql)


def test_a_claim_does_not_read_finished_and_scheduled_jobs(store: SqliteStore) -> None:
    def steps_of_a_claim() -> int:
        """Steps of SQLite's virtual machine, in hundreds."""
        store.perform_sync(Start(tuple(new_job() for _ in range(10))))
        count = 0

        def counted() -> int:
            nonlocal count
            count += 1
            return 0

        writer = store._parts.writer._writing.connection  # type: ignore[union-attr] # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
        assert writer is not None
        writer.set_progress_handler(counted, 100)
        claimed = store.perform_sync(ClaimJobs((TypeTerms("resize", 1, 1),), 10, "w", "token"))
        store.perform_sync(Settle(tuple(completed(job) for job in claimed)))
        writer.set_progress_handler(None, 100)
        assert len(claimed) == 10
        return count

    few = steps_of_a_claim()
    for _ in range(5):
        store.perform_sync(Start(tuple(new_job() for _ in range(400))))
        claimed = store.perform_sync(ClaimJobs((TypeTerms("resize", 1, 1),), 400, "w", "token"))
        store.perform_sync(Settle(tuple(completed(job) for job in claimed)))
    store.perform_sync(Start(tuple(new_job(delay=3600, priority=9 - n % 3) for n in range(2000))))
    store.perform_sync(Start(tuple(new_job("other") for _ in range(2000))))
    many = steps_of_a_claim()

    assert many < 2 * few
