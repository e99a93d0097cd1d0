"""The contract: a place for one run that holds nothing of the run before."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from benchmarks.contender import Place


class Storage(Protocol):
    """Where runs of one store take place."""

    @property
    def facts(self) -> dict[str, str]:
        """The server's version and the settings that figures depend on."""
        ...

    def fresh(self) -> AbstractContextManager[Place]:
        """A place with nothing in it, gone at the end of the block."""
        ...
