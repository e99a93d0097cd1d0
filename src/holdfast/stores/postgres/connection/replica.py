"""A replica for what is only looked at. It lags a little behind, so nothing is decided by what it says."""

from __future__ import annotations

import logging
import time
from typing import Any, Final, TypeVar

from holdfast.engine.operations import Finding, GetHistory, GetStats, ListChains, ListJobs, Operation
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connections import Pools
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.errors import is_outage
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Plan, Statement

R = TypeVar("R")

_EXAMINE = SQL["examine_replica"]

REST: Final = 5.0
"""Seconds for which a replica that failed is left alone."""
PATIENCE: Final = 1.0
"""Seconds to wait for a connection that others use. The primary is there, too."""

log = logging.getLogger("holdfast")


class ReplicaAway(Exception):
    """The replica did not answer, or should not be asked now: ask the primary."""


def may_ask(operation: Operation[Any]) -> bool:
    """Whether a replica may answer this: it says so itself. The same verbs serve decisions, too, and then do not."""
    return isinstance(operation, ListChains | ListJobs | GetHistory | GetStats) and operation.may_lag


class Replica:
    """Runs plans that only read. Whatever goes wrong is ReplicaAway: the primary knows whether it was the plan."""

    def __init__(self, address: PostgresAddress, render: Renderer) -> None:
        self._name = address.name
        self._pools = Pools(address, render, patience=PATIENCE)
        self._away_until = 0.0

    def run(self, plan: Plan[R]) -> R:
        self._check()
        try:
            answer = self._pools.verbs.run(plan)
        except Exception as error:
            raise self._away(error) from error
        self._answered()
        return answer

    async def run_async(self, plan: Plan[R]) -> R:
        self._check()
        try:
            answer = await self._pools.verbs_async().run(plan)
        except Exception as error:
            raise self._away(error) from error
        self._answered()
        return answer

    def examine(self) -> Finding:
        """What `holdfast doctor` says about it. Whether it rests or not, it is asked."""
        self._away_until = 0.0
        try:
            return self.run(self._examined())
        except ReplicaAway as away:
            return Finding("warning", "replica", f"{self._name} does not answer, the primary does: {away.__cause__}")

    def _examined(self) -> Plan[Finding]:
        ((follows, receives, behind),) = yield Statement(_EXAMINE)
        if follows and not receives:
            detail = f"{self._name} hears nothing from its primary: what it shows grows old"
            return Finding("warning", "replica", detail)
        return Finding("ok", "replica", f"{self._name} answers, {behind:.0f} s behind")

    def open(self) -> None:
        self._pools.open()

    def close(self) -> None:
        self._pools.close()

    def _check(self) -> None:
        if time.monotonic() < self._away_until:
            raise ReplicaAway

    def _away(self, error: Exception) -> Exception:
        if not is_outage(error):
            return error
        if not self._away_until:
            log.warning("the replica %s does not answer, asking the primary meanwhile: %s", self._name, error)
        self._away_until = time.monotonic() + REST
        return ReplicaAway()

    def _answered(self) -> None:
        if self._away_until:
            self._away_until = 0.0
            log.info("the replica %s answers again", self._name)
