"""Where new chains go, and which starts are refused because their parts belong on different shards."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast import Chain, Jobs, SyncClient, WrongShard
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import GetChains
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.placement import UNKNOWN_LOAD, place
from holdfast.stores.sharded.routing import Routing

Shards = dict[str, MemoryStore]


def test_shard_chooses_the_shard(client: SyncClient, jobs: Jobs, shards: Shards) -> None:
    chain = client.start(jobs["resize"].bind(1), shard="us")

    assert chain.id.startswith("us~")
    assert shards["us"].perform_sync(GetChains((chain.id,))) != [None]
    assert client.get(chain.id) is not None


def test_a_key_is_always_on_the_same_shard(client: SyncClient, jobs: Jobs) -> None:
    chains = [client.start(jobs["resize"].bind(1), key=str(number)) for number in range(20)]

    again = [client.start(jobs["resize"].bind(1), key=str(number)) for number in range(20)]

    assert [chain.id for chain in again] == [chain.id for chain in chains]
    assert all(chain.deduplicated for chain in again)
    assert {_shard(chain) for chain in chains} == {"eu", "us"}


def test_a_chosen_id_is_found_again(client: SyncClient, jobs: Jobs) -> None:
    ids = [f"order-{number}" for number in range(20)]
    for id in ids:
        assert client.start(jobs["resize"].bind(1), id=id).id == id

    assert all(client.start(jobs["resize"].bind(1), id=id).deduplicated for id in ids)
    assert all(client.get(id) is not None for id in ids)


def test_a_chosen_id_may_name_its_shard(client: SyncClient, jobs: Jobs, shards: Shards) -> None:
    client.start(jobs["resize"].bind(1), id="us~order-7")

    assert shards["us"].perform_sync(GetChains(("us~order-7",))) != [None]


def test_the_chains_of_a_batch_without_places_stay_together(client: SyncClient, jobs: Jobs) -> None:
    for _ in range(10):
        chains = client.start_many([jobs["resize"].bind(number) for number in range(5)])
        assert len({_shard(chain) for chain in chains}) == 1


def test_each_chain_of_a_batch_may_have_its_own_shard(client: SyncClient, jobs: Jobs) -> None:
    bounds = [jobs["resize"].bind(number).options(shard=name) for number, name in enumerate(["us", "eu", "us"])]

    chains = client.start_many(bounds)

    assert [_shard(chain) for chain in chains] == ["us", "eu", "us"]
    found = [client.get_job(chain.id) for chain in chains]
    assert [None if job is None else job.input["image"] for job in found] == [0, 1, 2]


def test_free_chains_fill_the_emptier_shard(client: SyncClient, jobs: Jobs) -> None:
    for _ in range(30):
        client.start(jobs["resize"].bind(1), shard="eu")

    chains = [client.start(jobs["resize"].bind(1)) for _ in range(20)]

    assert {_shard(chain) for chain in chains} == {"us"}


def test_free_chains_avoid_a_shard_that_does_not_answer() -> None:
    routing = Routing(["a", "b", "c"])
    jobs = [NewJob(str(number), "resize", str(number), b"", chosen=False) for number in range(1000)]

    placed = [place(routing, [job], {"a": 7, "b": UNKNOWN_LOAD, "c": 3})[0] for job in jobs]

    counts = Counter(job.id.partition("~")[0] for job in placed)
    assert counts["b"] == 0
    assert counts["c"] > counts["a"]  # two of three pairs contain c: 1 in 10^25 runs has as many of a


def test_a_chain_goes_to_its_blockers(client: SyncClient, jobs: Jobs) -> None:
    first = client.start(jobs["resize"].bind(1), shard="us")

    assert all(_shard(client.start(jobs["resize"].bind(2), after=[first])) == "us" for _ in range(10))


def test_blockers_on_two_shards_are_refused(client: SyncClient, jobs: Jobs) -> None:
    one, two = [client.start(jobs["resize"].bind(1), shard=name) for name in ("eu", "us")]

    with pytest.raises(ValueError, match=r"belongs on eu.*belongs on us"):
        client.start(jobs["resize"].bind(2), after=[one, two])


def test_a_shard_that_differs_from_the_place_of_the_key_is_refused(client: SyncClient, jobs: Jobs) -> None:
    chain = client.start(jobs["resize"].bind(1), key="k")
    other = "us" if _shard(chain) == "eu" else "eu"

    with pytest.raises(WrongShard, match=r"shard='(eu|us)'.*its key 'k'"):
        client.start(jobs["resize"].bind(1), key="k", shard=other)
    assert client.start(jobs["resize"].bind(1), key="k", shard=_shard(chain)).deduplicated


def test_an_unknown_shard_is_refused(client: SyncClient, jobs: Jobs) -> None:
    with pytest.raises(ValueError, match="there is no shard 'asia'; the shards are eu, us"):
        client.start(jobs["resize"].bind(1), shard="asia")


def test_shard_needs_a_client_with_shards(jobs: Jobs) -> None:
    with SyncClient("memory://", jobs) as client, pytest.raises(ValueError, match="needs a client with several stores"):
        client.start(jobs["resize"].bind(1), shard="eu")


def _shard(chain: Chain[object]) -> str:
    return chain.id.partition("~")[0]
