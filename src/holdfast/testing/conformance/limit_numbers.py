"""Numbers of limits: declared by workers, set by operators."""

from __future__ import annotations

from holdfast.engine.operations import DeclareLimits, GetLimits, LaneReport, LimitDeclaration, LimitReport, SetLimit
from holdfast.errors import LimitNotFound
from holdfast.testing.builders import completed
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, rate


async def a_raised_limit_lets_more_jobs_run(harness: Harness) -> None:
    await harness.start(*(laned(limit(1)) for _ in range(5)))
    assert len(await harness.claim(limit=9)) == 1
    assert await harness.claim(limit=9) == []

    await harness.perform(SetLimit("gpu", 3))

    assert len(await harness.claim(limit=9)) == 2
    assert await harness.claim(limit=9) == []


async def a_lowered_limit_lets_running_jobs_finish(harness: Harness) -> None:
    await harness.start(*(laned(limit(3)) for _ in range(6)))
    running = await harness.claim(limit=9)
    await harness.perform(SetLimit("gpu", 1))

    for job in running[:2]:
        await harness.settled(completed(job))
        assert await harness.claim(limit=9) == []

    await harness.settled(completed(running[2]))
    assert len(await harness.claim(limit=9)) == 1


async def a_limit_of_zero_pauses_until_it_is_reset(harness: Harness) -> None:
    await harness.start(laned(limit(2)), laned(limit(2)))
    await harness.perform(SetLimit("gpu", 0))
    assert await harness.claim(limit=9) == []

    await harness.perform(SetLimit("gpu", None))

    assert len(await harness.claim(limit=9)) == 2


async def one_lane_has_a_number_of_its_own(harness: Harness) -> None:
    await harness.start(*(laned(limit(1, key=key)) for key in "aaabbb"))
    await harness.perform(SetLimit("gpu", 2, "a"))
    assert len(await harness.claim(limit=9)) == 3

    await harness.perform(SetLimit("gpu", 3))
    assert len(await harness.claim(limit=9)) == 2

    await harness.perform(SetLimit("gpu", None, "a"))
    assert len(await harness.claim(limit=9)) == 1


async def one_paused_lane_does_not_stop_the_others(harness: Harness) -> None:
    await harness.start(laned(limit(1, key="a")), laned(limit(1, key="b")))
    await harness.perform(SetLimit("gpu", 0, "a"))

    assert len(await harness.claim(limit=9)) == 1
    assert await harness.claim(limit=9) == []
    await harness.perform(SetLimit("gpu", None, "a"))
    assert len(await harness.claim(limit=9)) == 1


async def the_number_of_a_rate_is_the_number_per_period(harness: Harness) -> None:
    await harness.start(*(laned(rate(1, per=60)) for _ in range(5)))
    assert len(await harness.claim(limit=9)) == 1
    assert await harness.claim(limit=9) == []

    await harness.perform(SetLimit("api", 0))
    harness.clock.advance(3600)
    assert await harness.claim(limit=9) == []
    await harness.perform(SetLimit("api", 6))
    assert len(await harness.claim(limit=9)) == 1
    harness.clock.advance(10)
    assert len(await harness.claim(limit=9)) == 1


async def an_order_can_be_paused_only(harness: Harness) -> None:
    await harness.start(laned(order()))
    try:
        await harness.perform(SetLimit("account", 2))
    except ValueError:
        pass
    else:
        raise AssertionError("an order accepted another number than 0")

    await harness.perform(SetLimit("account", 0))
    assert await harness.claim(limit=9) == []
    await harness.perform(SetLimit("account", None))
    assert len(await harness.claim(limit=9)) == 1


async def an_unknown_limit_is_refused(harness: Harness) -> None:
    error = await harness.refused(LimitNotFound, SetLimit("unknown", 1))
    assert error.name == "unknown"
    await harness.refused(LimitNotFound, SetLimit("unknown", None))


async def a_changed_declaration_applies_to_waiting_jobs(harness: Harness) -> None:
    await harness.start(*(laned(limit(1)) for _ in range(5)))
    assert len(await harness.claim(limit=9)) == 1
    assert await harness.claim(limit=9) == []

    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 3),)))

    assert len(await harness.claim(limit=9)) == 2


async def a_declaration_does_not_change_the_number_of_an_operator(harness: Harness) -> None:
    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 3),)))
    await harness.perform(SetLimit("gpu", 1))

    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 5),)))

    await harness.start(*(laned(limit(9)) for _ in range(9)))
    assert len(await harness.claim(limit=9)) == 1
    await harness.perform(SetLimit("gpu", None))
    assert len(await harness.claim(limit=9)) == 4


async def a_start_does_not_change_a_declared_number(harness: Harness) -> None:
    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 1),)))

    await harness.start(*(laned(limit(5)) for _ in range(5)))

    assert len(await harness.claim(limit=9)) == 1


async def a_report_lists_limits_and_their_lanes(harness: Harness) -> None:
    await harness.start(
        *(laned(limit(1, key="a")) for _ in range(2)),
        *(laned(limit(1, key="b")) for _ in range(4)),
        laned(rate(2, per=60, burst=3)),
        laned(order(key="7")),
    )
    claimed = await harness.claim(limit=9)
    await harness.claim(limit=9)
    await harness.perform(SetLimit("gpu", 2))
    await harness.perform(SetLimit("gpu", 0, "c"))

    reports = await harness.perform(GetLimits())

    by_name = {report.name: report for report in reports}
    assert [report.name for report in reports] == ["account", "api", "gpu"]
    assert by_name["account"]._replace(lanes=()) == LimitReport("account", "order", 1, 1, False, 0, 1, ())
    assert by_name["api"]._replace(lanes=()) == LimitReport("api", "rate", 2, 2, False, 60_000_000, 3, ())
    assert by_name["gpu"]._replace(lanes=()) == LimitReport("gpu", "limit", 2, 1, True, 0, 1, ())
    lanes = [lane._replace(holders=()) for lane in by_name["gpu"].lanes]
    assert lanes == [
        LaneReport("b", 2, False, 1, 3),
        LaneReport("a", 2, False, 1, 1),
        LaneReport("c", 0, True, 0, 0),
    ]
    holders = {holder for report in reports for lane in report.lanes for holder in lane.holders}
    assert holders == {job.id for job in claimed}
    assert [lane.running for lane in by_name["api"].lanes] == [1]
    assert [(lane.key, lane.running) for lane in by_name["account"].lanes] == [("7", 1)]


async def a_report_shows_the_lanes_with_most_waiting_jobs(harness: Harness) -> None:
    await harness.start(*(laned(limit(0, key=str(n))) for n in range(5) for _ in range(n + 1)))

    (report,) = await harness.perform(GetLimits(lanes=2))

    assert [(lane.key, lane.waiting) for lane in report.lanes] == [("4", 5), ("3", 4)]
