"""Large starts are written in parts, and generated ids are inserted without a search."""

from __future__ import annotations

import pytest

from holdfast.engine.operations import GetChains, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs.insert import PART
from holdfast.testing.builders import new_job


def test_jobs_started_in_parts_are_numbered_and_returned_in_order(store: PostgresStore) -> None:
    jobs = tuple(new_job() for _ in range(2 * PART + 1))

    started = store.perform_sync(Start(jobs))

    seqs = [each.chain.first.seq for each in started]
    assert [each.chain.first.id for each in started] == [job.id for job in jobs]
    assert seqs == sorted(set(seqs))
    assert [chain and chain.first.seq for chain in store.perform_sync(GetChains((jobs[-1].id,)))] == seqs[-1:]


async def test_a_start_in_parts_is_written_as_a_whole_or_not_at_all(store: PostgresStore) -> None:
    jobs = tuple(new_job() for _ in range(2 * PART))
    beyond = new_job(priority=2**70)

    with pytest.raises(StoreUnavailable, match="out of range"):
        await store.perform(Start((*jobs, beyond)))

    assert await store.perform(GetChains((jobs[0].id, jobs[-1].id))) == [None, None]
    await store.close()


@pytest.mark.parametrize("others", [0, 2, PART])
def test_a_generated_id_that_exists_is_skipped(store: PostgresStore, others: int) -> None:
    job = new_job()
    assert not job.chosen
    store.perform_sync(Start((job,)))

    answers = store.perform_sync(Start((job, *(new_job() for _ in range(others)))))

    assert [each.deduplicated for each in answers] == [True] + others * [False]
