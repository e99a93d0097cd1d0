"""A claim on several shards whose answer was lost is repeated, and returns only jobs that were not delivered."""

from __future__ import annotations

from typing import Any

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.shares import Shares
from holdfast.testing.builders import new_job

TERMS = (TypeTerms("resize", 60_000_000, 25),)


def claim(shares: Shares, stores: dict[str, MemoryStore], *, lost: tuple[int, str] | None = None) -> list[Record]:
    """Claim four jobs. The answer of this round and shard is lost."""
    plan = shares.claim(ClaimJobs(TERMS, 4, "worker", new_token()), tuple(stores))
    sent, number = next(plan), 1
    try:
        while True:
            answers: dict[str, Any] = {name: stores[name].perform_sync(part) for name, part in sent.items()}
            if lost is not None and lost[0] == number:
                answers[lost[1]] = StoreUnavailable(lost[1], "the answer was lost")
            sent, number = plan.send(answers), number + 1
    except StopIteration as end:
        found: list[Record] = end.value
        return found


def test_jobs_of_an_earlier_round_are_not_delivered_again() -> None:
    stores = {"full": MemoryStore(), "empty": MemoryStore()}
    jobs = [new_job() for _ in range(6)]
    stores["full"].perform_sync(Start(tuple(jobs)))
    shares = Shares()

    first = claim(shares, stores, lost=(2, "full"))
    second = claim(shares, stores)

    assert len(first) == 2
    assert {job.id for job in first}.isdisjoint(job.id for job in second)
    assert {job.id for job in (*first, *second)} == {job.id for job in jobs}
