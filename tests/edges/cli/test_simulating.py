"""`simulate`: a catalogue runs, and what became of it is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edges.cli.conftest import CommandLine

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
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE)
    return str(path)


@pytest.mark.parametrize("where", ["processes", "memory"])
def test_a_catalogue_runs_and_ends_as_predicted(holdfast: CommandLine, config: str, where: str) -> None:
    store = ["--store", "memory://"] if where == "memory" else []

    found = holdfast.json("simulate", "--config", config, "--jobs", "40", "--seed", "5", *store)

    assert found["passed"] is True
    assert found["jobs"] == 40
    assert found["throughput"] > 0
    assert {kind["kind"]: kind["outcomes"] for kind in found["kinds"]} == {
        "good": {"completed": 20}, "flaky": {"completed": 10}, "bad": {"failed": 10},
    }  # fmt: skip
    assert found["retries"] == 10 * 1 + 10 * 2
    assert found["digest"] == holdfast.json("simulate", "--config", config, "--jobs", "40", "--seed", "5")["digest"]


def test_people_get_a_table(holdfast: CommandLine, config: str) -> None:
    shown = holdfast("simulate", "--config", config, "--jobs", "8", "--store", "memory://").out

    assert "all came as predicted" in shown
    assert "failed in 3" in shown


def test_what_nobody_runs_is_given_up_when_the_time_is_up(holdfast: CommandLine, config: str) -> None:
    found = holdfast.json("simulate", "--config", config, "-n", "4", "--no-workers", "--timeout", "0", exit=4)

    assert found["passed"] is False
    assert holdfast.json("backlog")["due"] == 4
