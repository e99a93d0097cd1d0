"""The simulation of a fleet runs real workers and clients, and counts what they do."""

from __future__ import annotations

import pytest

from benchmarks.fleet.__main__ import table
from benchmarks.fleet.costs import StoreCosts, VerbCost, load
from benchmarks.fleet.simulation import Fleet, FleetReport, Plan

COSTS = StoreCosts(
    store="test",
    machine="test",
    round_trip=0.001,
    start=VerbCost(0.001),
    claim=VerbCost(0.001, 0.0001),
    settle=VerbCost(0.001, 0.0001),
    other=VerbCost(0.0),
)


def simulate(**changes: float) -> FleetReport:
    plan = Plan(workers=3, rate=40, seconds=5, handler=0.05, cores=int(changes.get("cores", 2)))
    return Fleet(plan, COSTS).run()


def test_the_workers_of_a_fleet_run_the_jobs_that_its_producers_start() -> None:
    report = simulate()

    assert report.counts.started > 100
    assert report.counts.finished >= report.counts.started - 10
    assert report.claims >= report.empty_claims
    assert report.messages > 0
    assert report.connections >= 2 * 3
    assert report.calls["start"] == pytest.approx(report.counts.started, abs=5)


def test_the_same_plan_gives_the_same_report() -> None:
    assert table(simulate()) == table(simulate())


def test_fewer_cores_mean_a_higher_load() -> None:
    assert simulate(cores=1).server_load > 1.5 * simulate(cores=2).server_load


def test_a_larger_batch_lowers_the_cost_of_a_job() -> None:
    for costs in load().values():
        assert costs.per_job(100) < costs.per_job(10) < costs.per_job(1)
