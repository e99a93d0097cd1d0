"""Claims whose answer was lost."""

from __future__ import annotations

import pytest

from holdfast import Store, StoreUnavailable
from holdfast.engine.operations import Start, TypeTerms
from holdfast.testing.builders import new_job
from holdfast.worker.ahead_size import Room
from holdfast.worker.claimer import Claimer
from tests.worker.faulty_store import FaultyStore

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.mark.parametrize(("lease", "received"), [(60.0, 2), (0.0, 0)], ids=["in time", "too late"])
async def test_a_claim_is_sent_again_while_enough_of_its_lease_is_left(
    store: Store, lease: float, received: int
) -> None:
    faulty = FaultyStore(store)
    claimer = Claimer(faulty, TERMS, "worker", shortest=lease)
    await store.perform(Start((new_job(), new_job())))
    faulty.fail("claim", when="after", times=1)
    with pytest.raises(StoreUnavailable):
        await claimer.claim(Room(10))

    jobs, _ = await claimer.claim(Room(10))

    assert len(jobs) == received
