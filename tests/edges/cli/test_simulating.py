"""`simulate`: the jobs of a catalogue run, and the results are checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.cli.conftest import CommandLine
from tests.supervisor.harness import ADDRESSES

CATALOGUE = """
[workers]
default_count = 1
max_count = 2
concurrency = 10
scale_interval_ms = 100

[retry.quick]
max_retries = 2
initial_seconds = 0.01

[work_kinds.good]
duration = { uniform = [0.001, 0.01] }
weight = 2

[work_kinds.flaky]
duration = 0
fail_times = 1
retry = "quick"

[work_kinds.bad]
duration = 0
outcome = "fail"
retry = "quick"

[work_kinds.unwanted]
duration = { exponential = 0.005 }
outcome = "cancel"
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE)
    return str(path)


STORES: dict[str, Callable[[Path], str]] = {"memory": lambda folder: "memory://", **ADDRESSES}


@pytest.mark.parametrize("store", STORES)
def test_a_catalogue_ends_as_predicted_and_the_same_way_each_time_on_every_store(
    holdfast: CommandLine, config: str, tmp_path: Path, store: str
) -> None:
    arguments = ["simulate", "--config", config, "--jobs", "50", "--seed", "5"]
    address = STORES[store](tmp_path)

    one, other = (holdfast.json(*arguments, "--store", address) for _ in range(2))

    assert one["passed"] is True
    assert one["jobs"] == 50
    assert one["throughput"] > 0
    assert {kind["kind"]: kind["outcomes"] for kind in one["kinds"]} == {
        "good": {"completed": 20}, "flaky": {"completed": 10}, "bad": {"failed": 10}, "unwanted": {"cancelled": 10},
    }  # fmt: skip
    assert one["retries"] == 10 * 1 + 10 * 2
    in_memory = holdfast.json(*arguments, "--store", "memory://")
    assert one["digest"] == other["digest"] == in_memory["digest"]


def test_people_get_a_table(holdfast: CommandLine, config: str) -> None:
    shown = holdfast("simulate", "--config", config, "--jobs", "8", "--store", "memory://").out

    assert "all ended as predicted" in shown
    assert "failed in 3" in shown


def test_a_simulation_without_workers_ends_at_its_timeout(holdfast: CommandLine, config: str) -> None:
    found = holdfast.json("simulate", "--config", config, "-n", "4", "--no-workers", "--timeout", "0", exit=4)

    assert found["passed"] is False
    assert holdfast.json("backlog", "--config", config)["due"] == 4
