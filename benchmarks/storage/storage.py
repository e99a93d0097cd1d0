"""The contract: empty storage for one run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from benchmarks.contender import Place


class Storage(Protocol):
    """Provides the storage of one store."""

    @property
    def facts(self) -> dict[str, str]:
        """The server's version and the settings that figures depend on."""
        ...

    def fresh(self) -> AbstractContextManager[Place]:
        """Empty storage, removed at the end of the block."""
        ...
