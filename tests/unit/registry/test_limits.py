"""Declarations of limits, rates and orders, and the lanes of bound calls."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Failure, Jobs, Limit, Order, Rate
from holdfast.core.lanes import lane_id


def lanes(*limits: Any, customer: Any = 7, tenant: str = "eu") -> list[str]:
    jobs = Jobs()

    @jobs.job(limits=limits)
    async def render(customer: Any, tenant: str = "us", size: int = 1) -> None: ...

    return [rule.lane for rule in render.bind(customer, tenant=tenant).lanes]


def _size_of_customer(size: int, **rest: int) -> int:
    return size + rest["customer"]


def _only_customer(customer: int) -> int:
    return customer


def _fails(**given: object) -> float:
    return 1 / 0


def test_the_key_of_a_lane_is_text() -> None:
    assert lanes(Limit("gpu", 2)) == [lane_id("gpu", "")]
    assert lanes(Limit("c", 2, by="customer")) == [lane_id("c", "7")]
    assert lanes(Limit("c", 2, by="tenant")) == [lane_id("c", "eu")]
    assert lanes(Limit("c", 2, by=["tenant", "customer"])) == [lane_id("c", '["eu",7]')]
    assert lanes(Limit("c", 2, by=_size_of_customer)) == [lane_id("c", "8")]


def test_options_do_not_evaluate_the_key_again() -> None:
    calls: list[int] = []
    jobs = Jobs()

    def key(n: int) -> None:
        calls.append(n)

    @jobs.job(limits=[Limit("c", 2, by=key)])
    async def render(n: int) -> None: ...

    bound = render.bind(1)
    assert bound.options(priority=3, delay=5).lanes == bound.lanes
    assert calls == [1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limit("gpu", -1),
        lambda: Limit("", 1),
        lambda: Limit("a\x1fb", 1),
        lambda: Rate("api", -1, per=1),
        lambda: Rate("api", 1, per=0),
        lambda: Rate("api", 1, per=1, burst=0),
        lambda: Order("o", on_failure="stop"),  # type: ignore[arg-type]
        lambda: Order("o", span="queue"),  # type: ignore[arg-type]
        lambda: lanes(Limit("c", 1, by="unknown")),
        lambda: lanes(Limit("c", 1, by=["customer", "unknown"])),
        lambda: lanes(Limit("c", 1, by=_only_customer)),
        lambda: lanes(Rate("c", 1, per=1, weight="unknown")),
        lambda: lanes(Limit("c", 1), Order("c")),
        lambda: lanes(Limit("c", 1, by="customer"), customer="x" * 513),
        lambda: lanes(Limit("c", 1, by=_fails)),
        lambda: lanes(Rate("c", 1, per=1, burst=2, weight="customer"), customer=3),
        lambda: lanes(Rate("c", 1, per=1, weight="customer"), customer=-1),
    ],
)
def test_an_invalid_declaration_or_key_is_a_value_error(make: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        make()


def test_zero_pauses_and_is_valid() -> None:
    assert (Limit("gpu", 0).number, Rate("api", 0, per=60).number) == (0, 0)


def test_a_weight_is_part_of_the_bound_call() -> None:
    jobs = Jobs()

    @jobs.job(limits=[Rate("api", 10, per=60, burst=5, weight="size")])
    async def render(size: int) -> None: ...

    assert render.bind(0).lanes[0].weight == 0
    assert render.bind(5).lanes[0].weight == 5


def test_one_name_has_one_definition() -> None:
    jobs, other = Jobs(), Jobs()

    @jobs.job(limits=[Limit("gpu", 2)])
    async def first() -> None: ...

    @jobs.job(limits=[Limit("gpu", 2)])
    async def same() -> None: ...

    with pytest.raises(ValueError, match="gpu"):

        @jobs.job(limits=[Limit("gpu", 3)])
        async def second() -> None: ...

    @other.job(limits=[Rate("gpu", 2, per=1)])
    async def third() -> None: ...

    with pytest.raises(ValueError, match="gpu"):
        jobs.include(other)
    assert "second" not in jobs


def test_a_hook_with_a_key_is_refused() -> None:
    jobs = Jobs()

    @jobs.job(limits=[Limit("gpu", 2, by="failure")])
    async def keyed(failure: Failure) -> None: ...

    @jobs.job(limits=[Limit("all", 2)])
    async def refund(failure: Failure) -> None: ...

    with pytest.raises(TypeError, match="gpu"):

        @jobs.job(on_failure=keyed)
        async def pay() -> None: ...

    @jobs.job(on_failure=refund)
    async def charge() -> None: ...
