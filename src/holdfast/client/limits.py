"""Read and set the numbers of limits, rates and orders, and skip failed jobs in orders."""

from __future__ import annotations

from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.client_calls import ClientCalls
from holdfast.client.references import current_job_id
from holdfast.core.job import Chain, Job
from holdfast.engine.operations import GetLimits, LimitReport, SetLimit, SkipJobs
from holdfast.engine.procedures import Procedure
from holdfast.registry.limits import check_number


class LimitMethods(Capability):
    """Limits, async."""

    async def limits(self) -> list[LimitReport]:
        """All limits, rates and orders by name, each with its lanes that have running or waiting jobs."""
        return await self._run(_limits(), None)

    async def set_limit(self, name: str, number: int, key: str | None = None, *, reason: str | None = None) -> None:
        """Set the number of a limit, or of the lane with this key, until it is reset. 0 pauses; running jobs continue.

        For a rate it is the number per period. For an order only 0 is possible. Raises LimitNotFound.
        """
        await self._run(_set_limit(self._calls, name, number, key, reason), None)

    async def reset_limit(self, name: str, key: str | None = None, *, reason: str | None = None) -> None:
        """Return a limit, or the lane with this key, to its declared number. Raises LimitNotFound."""
        await self._run(_reset_limit(self._calls, name, key, reason), None)

    async def skip(self, job: Job | Chain[Any] | str, *, reason: str | None = None) -> None:
        """Skip a failed job in its orders: the jobs behind it run. Raises JobNotFound or NotPending.

        A chain, or its id, means its current job. A job that holds no order, or was skipped before, does not change.
        """
        await self._run(_skip(self._calls, job, reason), None)


class SyncLimitMethods(SyncCapability):
    """Limits, blocking."""

    def limits(self) -> list[LimitReport]:
        """All limits, rates and orders by name, each with its lanes that have running or waiting jobs."""
        return self._run(_limits(), None)

    def set_limit(self, name: str, number: int, key: str | None = None, *, reason: str | None = None) -> None:
        """Set the number of a limit, or of the lane with this key, until it is reset. 0 pauses; running jobs continue.

        For a rate it is the number per period. For an order only 0 is possible. Raises LimitNotFound.
        """
        self._run(_set_limit(self._calls, name, number, key, reason), None)

    def reset_limit(self, name: str, key: str | None = None, *, reason: str | None = None) -> None:
        """Return a limit, or the lane with this key, to its declared number. Raises LimitNotFound."""
        self._run(_reset_limit(self._calls, name, key, reason), None)

    def skip(self, job: Job | Chain[Any] | str, *, reason: str | None = None) -> None:
        """Skip a failed job in its orders: the jobs behind it run. Raises JobNotFound or NotPending.

        A chain, or its id, means its current job. A job that holds no order, or was skipped before, does not change.
        """
        self._run(_skip(self._calls, job, reason), None)


def _limits() -> Procedure[list[LimitReport]]:
    reports: list[LimitReport] = yield GetLimits()
    return reports


def _set_limit(calls: ClientCalls, name: str, number: int, key: str | None, reason: str | None) -> Procedure[None]:
    check_number(name, number)
    yield SetLimit(name, number, key, audit=calls.audit(_what(f"to {number}", key, reason)))


def _reset_limit(calls: ClientCalls, name: str, key: str | None, reason: str | None) -> Procedure[None]:
    yield SetLimit(name, None, key, audit=calls.audit(_what("to the declared number", key, reason)))


def _skip(calls: ClientCalls, job: Job | Chain[Any] | str, reason: str | None) -> Procedure[None]:
    current = yield from current_job_id(job)
    yield SkipJobs((current,), audit=calls.audit(reason))


def _what(number: str, key: str | None, reason: str | None) -> str:
    """The reason in the audit: what was set, and why."""
    lane = "" if key is None else f" for the key {key}"
    return f"{number}{lane}" + (f": {reason}" if reason else "")
