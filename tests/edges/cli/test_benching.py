"""`bench`: the figures of a store, and that the store is unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.benchmark import bench, private_place
from tests.edges.cli.conftest import CommandLine
from tests.servers.postgres import shared_postgres
from tests.servers.redis import shared_redis
from tests.supervisor.harness import ADDRESSES


def files(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def schemas(folder: Path) -> list[str]:
    with closing(shared_postgres().connect()) as connection:
        rows = connection.execute("select nspname from pg_namespace where nspname like 'holdfast_bench%'").fetchall()
    return [name for (name,) in rows]


def keys(folder: Path) -> list[str]:
    with shared_redis().connect() as client:
        return [key.decode() for key in client.keys("*holdfast_bench*")]


PLACES: dict[str, Callable[[Path], list[str]]] = {"sqlite": files, "postgres": schemas, "redis": keys}


def test_a_store_is_measured_and_left_as_it_was(holdfast: CommandLine, tmp_path: Path) -> None:
    holdfast.start("add", a=1)
    before = holdfast.json("list")

    found = holdfast.json("bench", "--jobs", "20")

    assert min(found[name] for name in ("start", "bulk_start", "drain", "wide_drain")) > 0
    assert 0 < found["pick_up"]["median"] <= found["pick_up"]["p95"]
    assert 0 < found["round_trip"]["median"] <= found["round_trip"]["p95"]
    assert holdfast.json("list") == before
    assert not [name for name in files(tmp_path) if "bench" in name]


def test_a_benchmark_is_shown_as_a_table(holdfast: CommandLine) -> None:
    shown = holdfast("bench", "--jobs", "10").out

    assert "drain, concurrency 10" in shown
    assert "start and wait" in shown


@pytest.mark.parametrize("store", PLACES)
def test_every_store_has_a_place_for_it_that_is_gone_afterwards(store: str, tmp_path: Path) -> None:
    with private_place(ADDRESSES[store](tmp_path)) as place:
        found = asyncio.run(bench(place, jobs=10))
        made = PLACES[store](tmp_path)

    assert found.bulk_start > 0
    assert made
    assert PLACES[store](tmp_path) == []


def test_a_place_is_removed_after_a_failure_too(tmp_path: Path) -> None:
    def fail() -> None:
        with private_place(f"sqlite:///{tmp_path}/jobs.db") as place:
            Path(place.removeprefix("sqlite:///")).write_text("half made")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert files(tmp_path) == []
