"""A read replica for lists and counts. It lags behind the primary, so no decision uses its answers."""

from __future__ import annotations

import logging
import time
from typing import Any, Final, TypeVar

from holdfast.engine.operations import Finding, GetHistory, GetStats, ListChains, ListJobs, Operation
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connections import Connections
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.errors import is_outage
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

R = TypeVar("R")

_EXAMINE = SQL["examine_replica"]

RETRY_AFTER: Final = 5.0
"""Seconds for which a failed replica is not used."""
TIMEOUT: Final = 1.0
"""Seconds to wait for a free connection before the primary is used instead."""

log = logging.getLogger("holdfast")


class ReplicaUnavailable(Exception):
    """The replica did not answer, or failed recently: use the primary."""


def may_lag(operation: Operation[Any]) -> bool:
    """Whether a replica may answer this operation. Decisions use the same verbs, but without `may_lag`."""
    return isinstance(operation, ListChains | ListJobs | GetHistory | GetStats) and operation.may_lag


class Replica:
    """Runs plans that only read. An outage raises ReplicaUnavailable."""

    def __init__(self, address: PostgresAddress, render: Renderer) -> None:
        self._name = address.name
        self._connections = Connections(address, render, timeout=TIMEOUT)
        self._unavailable_until = 0.0

    def run(self, plan: Plan[R]) -> R:
        self._check()
        try:
            answer = self._connections.verbs.run(plan)
        except Exception as error:
            raise self._failed(error) from error
        self._answered()
        return answer

    async def run_async(self, plan: Plan[R]) -> R:
        self._check()
        try:
            answer = await self._connections.verbs_async().run(plan)
        except Exception as error:
            raise self._failed(error) from error
        self._answered()
        return answer

    def examine(self) -> Finding:
        """The finding of `holdfast doctor`. The replica is asked even if it failed recently."""
        self._unavailable_until = 0.0
        try:
            return self.run(self._examined())
        except ReplicaUnavailable as unavailable:
            detail = f"{self._name} does not answer, the primary does: {unavailable.__cause__}"
            return Finding("warning", "replica", detail)

    def _examined(self) -> Plan[Finding]:
        ((follows, receives, behind),) = yield Statement(_EXAMINE)
        if follows and not receives:
            detail = f"{self._name} receives nothing from its primary: its data is outdated"
            return Finding("warning", "replica", detail)
        return Finding("ok", "replica", f"{self._name} answers, {behind:.0f} s behind")

    def open(self) -> None:
        self._connections.open()

    def close(self) -> None:
        self._connections.close()

    def _check(self) -> None:
        if time.monotonic() < self._unavailable_until:
            raise ReplicaUnavailable

    def _failed(self, error: Exception) -> Exception:
        if not is_outage(error):
            return error
        if not self._unavailable_until:
            log.warning("the replica %s does not answer, asking the primary meanwhile: %s", self._name, error)
        self._unavailable_until = time.monotonic() + RETRY_AFTER
        return ReplicaUnavailable()

    def _answered(self) -> None:
        if self._unavailable_until:
            self._unavailable_until = 0.0
            log.info("the replica %s answers again", self._name)
