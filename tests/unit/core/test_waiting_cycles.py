"""Chains that wait for each other: which cycles are found, and their error messages."""

from __future__ import annotations

import pytest

from holdfast.client.cycle_findings import WAITING_JOBS, cycle_findings
from holdfast.core.waiting_cycles import MOST_CHAINS, check_batch, cycles, walk
from holdfast.engine.operations import Waiting
from holdfast.errors import DependencyCycle
from holdfast.testing.builders import new_job

WAITS = {"a": ["x", "b"], "b": ["c"], "c": ["a", "d"], "d": []}


def found(chain_id: str, *after: str) -> list[str] | None:
    cycle = walk(chain_id, after, lambda chain: WAITS.get(chain, ())).cycle
    return None if cycle is None else cycle.chain_ids


def test_a_walk_names_the_shortest_way_back() -> None:
    assert found("x", "a") == ["x", "a"]
    assert found("x", "c", "d") == ["x", "c", "a"]
    assert found("x", "x") == ["x"]
    assert found("x", "d", "unknown") is None
    assert found("x") is None


def test_a_search_returns_the_chains_that_it_visited() -> None:
    assert walk("y", ["b"], lambda chain: WAITS.get(chain, ())).reached == ["b", "c", "a", "d", "x"]


def test_a_walk_is_bounded_beyond_what_a_job_names() -> None:
    after = [f"named-{n}" for n in range(5)]
    walked = walk("own", after, lambda chain: [f"{chain}+"])

    assert walked.cycle is None
    assert len(walked.reached) == MOST_CHAINS + 5
    assert set(after) < set(walked.reached)


def test_every_cycle_without_a_common_chain_is_found() -> None:
    waits = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["e", "c"], "e": ["f"], "self": ["self", "a"]}

    named = [sorted(cycle) for cycle in cycles(waits, 10)]

    assert sorted(named) == [["a", "b"], ["c", "d"], ["self"]]
    assert len(cycles(waits, 2)) == 2
    assert cycles({"a": ["b"], "b": ["c"]}, 10) == []


def test_each_chain_of_a_cycle_waits_for_the_next() -> None:
    (cycle,) = cycles({"a": ["b"], "b": ["c"], "c": ["a"]}, 10)

    start = cycle.index("a")
    assert cycle[start:] + cycle[:start] == ["a", "b", "c"]


def test_chains_started_together_may_wait_for_earlier_ones_only() -> None:
    check_batch([new_job(id="a"), new_job(id="b", after=("a",)), new_job(id="c", after=("a", "b", "before"))])

    with pytest.raises(DependencyCycle) as refused:
        check_batch([new_job(id="a", after=("b",)), new_job(id="b", after=("a",))])

    assert sorted(refused.value.chain_ids) == ["a", "b"]


def test_an_error_names_the_chains_and_shortens_a_long_cycle() -> None:
    assert str(DependencyCycle(["a", "b"])).startswith("chain 'a' waits for 'b', which waits for 'a', so none")
    text = str(DependencyCycle([f"c{n}" for n in range(20)]))
    assert "'c4', which waits for ... (14 more), which waits for 'c19', which waits for 'c0'" in text


def test_doctor_names_each_cycle() -> None:
    (one, two) = cycle_findings([Waiting("a", ("b",)), Waiting("b", ("a",)), Waiting("c", ("c", "a"))])

    assert {one.level, two.level} == {"error"}
    assert {"'a' waits for 'b'" in each.detail or "'b' waits for 'a'" in each.detail for each in (one, two)} == {
        True,
        False,
    }
    assert any("chain 'c' waits for itself" in each.detail for each in (one, two))


def test_doctor_says_how_far_it_looked() -> None:
    assert cycle_findings([Waiting("a", ("b",))])[0].detail == "none"
    many = [Waiting(str(n), ("x",)) for n in range(WAITING_JOBS.limit)]

    (finding,) = cycle_findings(many)

    assert (finding.level, finding.detail) == ("ok", "none among the 10,000 oldest blocked jobs")
