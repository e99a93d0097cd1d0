"""A claim of several statements or scripts may claim a job twice under its token, if the job was lost in between.

The result has the job once, with the later claim: two handlers under one token could not be distinguished.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import CancelChains, ClaimedJobs, ClaimJobs, RetryJobs, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs import claim as postgres_claim
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.verbs import claim as redis_claim
from holdfast.stores.redis.verbs import script_errors
from holdfast.testing.builders import new_job
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis

R = TypeVar("R")
MINUTE = 60_000_000
TERMS = (TypeTerms("first", MINUTE, 25), TypeTerms("second", MINUTE, 25))


@pytest.fixture
def postgres() -> Iterator[PostgresStore]:
    store = PostgresStore(fresh_address())
    yield store
    store.close_sync()


@pytest.fixture
def redis() -> Iterator[RedisStore]:
    store = RedisStore(shared_redis().address())
    yield store
    store.close_sync()


def lose_and_return(store: Store, chain_id: str) -> None:
    store.perform_sync(CancelChains((chain_id,)))
    store.perform_sync(RetryJobs((chain_id,)))


def once(action: Callable[[], None]) -> Callable[[], None]:
    """A function that performs this action at its first call."""
    left = [action]
    return lambda: left.pop()() if left else None


def check(claimed: list[Record], job_id: str) -> None:
    ids = [job.id for job in claimed]
    assert sorted(ids) == sorted(set(ids))
    assert job_id in ids
    assert isinstance(claimed, ClaimedJobs)
    assert job_id not in claimed.new


@pytest.mark.postgres
def test_a_job_that_is_claimed_by_two_statements_is_returned_once(
    postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, other = new_job("first"), new_job("second")
    postgres.perform_sync(Start((lost, other)))
    lose = once(lambda: lose_and_return(postgres, lost.id))
    original = postgres_claim._claimed  # pyright: ignore[reportPrivateUsage]

    def lose_after_the_first(context: PlanContext, rows: list[Any]) -> Any:
        answer = original(context, rows)
        lose()
        return answer

    monkeypatch.setattr(postgres_claim, "_claimed", lose_after_the_first)

    claimed = postgres.perform_sync(ClaimJobs(TERMS, 3, "worker", new_token(), finds_new=True))

    check(claimed, lost.id)
    assert len(claimed) == 2


@pytest.mark.redis
def test_a_job_that_is_claimed_by_two_scripts_is_returned_once(
    redis: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_claim, "BATCH_SIZE", 2)
    jobs = [new_job("first") for _ in range(2)]
    redis.perform_sync(Start(tuple(jobs)))
    lose = once(lambda: lose_and_return(redis, jobs[0].id))
    original = script_errors.existing

    def lose_after_the_first(reply: Any) -> Generator[Record]:
        yield from original(reply)
        lose()

    monkeypatch.setattr(redis_claim, "existing", lose_after_the_first)

    claimed = redis.perform_sync(ClaimJobs(TERMS, 4, "worker", new_token(), finds_new=True))

    check(claimed, jobs[0].id)
    assert len(claimed) == 2
