"""Places are the same in every process, and a new shard takes over only its own part."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.ids import new_id_on
from holdfast.stores.address import open_store
from holdfast.stores.sharded.routing import Routing, check_name


def test_a_generated_id_names_its_shard() -> None:
    routing = Routing(["eu", "us"])

    assert {routing.of_id(new_id_on("us")) for _ in range(20)} == {"us"}


def test_places_never_change() -> None:
    # A change of these places would hide the chains, keys and schedules of existing installations.
    routing = Routing(["eu", "us", "asia"])

    assert [routing.of_id(f"order-{number}") for number in range(6)] == ["asia", "us", "asia", "asia", "us", "eu"]
    assert [routing.of_key("resize", f"image-{number}") for number in range(6)] == [
        "eu",
        "asia",
        "us",
        "us",
        "us",
        "asia",
    ]
    assert [routing.of_schedule(name) for name in ("nightly", "hourly", "weekly")] == ["us", "eu", "asia"]


@pytest.mark.parametrize(
    "address",
    ["sqlite:///jobs.db", "postgresql://a.example/jobs?pool=3", "redis://a.example?namespace=jobs", "memory://both"],
)
def test_two_names_of_one_store_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="'eu' and 'us' are the same store"):
        open_store({"eu": address, "us": address})


def test_stores_on_one_server_may_be_shards() -> None:
    open_store({"eu": "redis://a.example?namespace=eu", "us": "redis://a.example?namespace=us"})
    open_store({"eu": "postgresql://a.example/jobs?schema=eu", "us": "postgresql://a.example/jobs?schema=us"})
    open_store({"eu": "memory://", "us": "memory://"})


def test_the_order_of_the_names_does_not_matter() -> None:
    one, two = Routing(["eu", "us", "asia"]), Routing(["asia", "us", "eu"])

    assert all(one.of_id(str(number)) == two.of_id(str(number)) for number in range(200))


def test_texts_are_distributed_evenly() -> None:
    routing = Routing(["a", "b", "c", "d"])

    counts = Counter(routing.of_key("resize", str(number)) for number in range(4000))

    assert all(800 < count < 1200 for count in counts.values())


def test_a_new_shard_takes_over_only_its_part() -> None:
    before, after = Routing(["a", "b"]), Routing(["a", "b", "c"])

    moved = [number for number in range(3000) if before.of_id(str(number)) != after.of_id(str(number))]

    assert {after.of_id(str(number)) for number in moved} == {"c"}
    assert 800 < len(moved) < 1200


@pytest.mark.parametrize("name", ["nightly", "tenant:7", "x:fire"])
def test_the_chains_of_a_schedule_are_on_its_shard(name: str) -> None:
    routing = Routing(["a", "b", "c", "d", "e"])

    for id in (f"schedule:{name}:2026-11-17T02:30:00Z", f"schedule:{name}:fire:2026-11-17T02:30:00.123456Z"):
        assert routing.of_id(id) == routing.of_schedule(name)


@pytest.mark.parametrize("name", ["", "a~b", "a=b", "a b", "-a", "a-", "x" * 33, "é", "a:b", "a/b"])
def test_a_name_that_cannot_begin_an_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a shard"):
        check_name(name)
