"""Lanes for tests: jobs with limits, rates and orders, without a registry."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import duration
from holdfast.core.details import read_details, write_details
from holdfast.core.lanes import LaneRule, job_lanes, lane_id
from holdfast.core.lifecycle import NewJob
from holdfast.core.retry import Seconds, seconds
from holdfast.testing.builders import new_job


def limit(number: int = 1, *, name: str = "gpu", key: str = "") -> LaneRule:
    """A lane of a limit."""
    return LaneRule(lane_id(name, key), "limit", number)


def rate(
    number: int = 1, *, per: Seconds = 60, burst: int = 1, weight: int = 1, name: str = "api", key: str = ""
) -> LaneRule:
    """A lane of a rate."""
    return LaneRule(lane_id(name, key), "rate", number, per=duration(seconds(per)), burst=burst, weight=weight)


def order(*, hold: bool = True, chain: bool = False, name: str = "account", key: str = "") -> LaneRule:
    """A lane of an order."""
    return LaneRule(lane_id(name, key), "order", hold=hold, chain=chain)


def with_lanes(job: NewJob, *rules: LaneRule) -> NewJob:
    """The job with these lanes. The first one counts for fairness."""
    lanes = job_lanes(job.type, job.priority, rules, rules[0].lane)
    details = write_details(replace(read_details(job.details), lanes=lanes))
    return replace(job, details=details, track=lanes.track)


def laned(*rules: LaneRule, type: str = "resize", priority: int = 0, delay: Seconds = 0) -> NewJob:
    """The first job of a chain, with these lanes."""
    return with_lanes(new_job(type, priority=priority, delay=delay), *rules)
