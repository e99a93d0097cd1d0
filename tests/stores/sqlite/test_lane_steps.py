"""Starts and claims of jobs with lanes do the same work per job, however many there are.

The work is the number of steps of SQLite's virtual machine, which does not depend on the machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.core.lanes import LaneRule
from holdfast.engine.generators import drive
from holdfast.engine.operations import ClaimJobs, Start, TypeTerms
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection.execute import executor
from holdfast.stores.sqlite.verbs import claim, start
from holdfast.testing.lanes import laned, limit, order

R = TypeVar("R")

FEW, MANY = 400, 1600
LANES = 100
CLAIMED = 50
UNIT = 10
"""Steps between two calls of the handler."""


@pytest.fixture
def connection(path: Path, store: SqliteStore) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize("rule", [limit, order])
def test_the_work_of_a_start_and_of_a_claim_does_not_grow_with_the_number_of_jobs(
    connection: sqlite3.Connection, rule: Callable[..., LaneRule]
) -> None:
    started: dict[int, int] = {}
    claimed: dict[int, int] = {}
    for number in (FEW, MANY):
        jobs = tuple(laned(rule(key=f"{number}-{key % LANES}"), type=f"type-{number}") for key in range(number))
        with connection:
            connection.execute("begin immediate")
            _, started[number] = perform(connection, start.start(PlanContext(1), Start(jobs)))
            found, claimed[number] = perform(connection, claim.claim(PlanContext(2), claim_of(number, CLAIMED)))
            assert len(found) == CLAIMED

    assert started[MANY] < started[FEW] * MANY / FEW * 1.5
    assert claimed[MANY] < claimed[FEW] * 1.5


def claim_of(number: int, limit: int) -> ClaimJobs:
    return ClaimJobs((TypeTerms(f"type-{number}", 1_000_000, 3),), limit, "worker", f"token-{limit}")


def perform(connection: sqlite3.Connection, plan: Plan[R]) -> tuple[R, int]:
    """Perform a plan. Returns its answer and its steps, divided by `UNIT`."""
    count = 0

    def call() -> int:
        nonlocal count
        count += 1
        return 0

    connection.set_progress_handler(call, UNIT)
    try:
        answer = drive(plan, executor(connection))
    finally:
        connection.set_progress_handler(None, 0)
    return answer, count
