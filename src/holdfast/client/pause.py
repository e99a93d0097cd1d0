"""Pause and resume job types."""

from __future__ import annotations

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.client_calls import ClientCalls
from holdfast.client.references import Names, type_names
from holdfast.engine.operations import Pause, Resume
from holdfast.engine.procedures import Procedure


class PauseMethods(Capability):
    """Pausing, async."""

    async def pause(self, types: Names, *, reason: str | None = None) -> None:
        """Let no worker claim jobs of these types until they are resumed. Running attempts continue."""
        await self._run(_pause(self._calls, types, reason), None)

    async def resume(self, types: Names, *, reason: str | None = None) -> None:
        """Let workers claim jobs of these types again."""
        await self._run(_resume(self._calls, types, reason), None)


class SyncPauseMethods(SyncCapability):
    """Pausing, blocking."""

    def pause(self, types: Names, *, reason: str | None = None) -> None:
        """Let no worker claim jobs of these types until they are resumed. Running attempts continue."""
        self._run(_pause(self._calls, types, reason), None)

    def resume(self, types: Names, *, reason: str | None = None) -> None:
        """Let workers claim jobs of these types again."""
        self._run(_resume(self._calls, types, reason), None)


def _pause(calls: ClientCalls, types: Names, reason: str | None) -> Procedure[None]:
    yield Pause(type_names(types), audit=calls.audit(reason))


def _resume(calls: ClientCalls, types: Names, reason: str | None) -> Procedure[None]:
    yield Resume(type_names(types), audit=calls.audit(reason))
