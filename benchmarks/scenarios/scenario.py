"""The contract of a scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from benchmarks.contender import Contender
from benchmarks.processes import Run

SHARED = frozenset({"postgres", "redis", "sqlite"})
"""Stores that processes share."""


class Scenario(ABC):
    """One thing to measure."""

    idea: ClassVar[str]
    """The name of its file. `--scenarios` and contenders refer to it."""
    stores: ClassVar[frozenset[str]] = SHARED
    everyone: ClassVar[bool] = True
    """Whether peers take part, or only Holdfast, the limit and the worker by hand."""
    name: str

    @abstractmethod
    def measure(self, run: Run, scale: float) -> dict[str, float]:
        """Figures of one run, by the names of METRICS. Raises Broken or Unsupported with the reason."""

    def fits(self, contender: type[Contender], store: str) -> bool:
        """Whether the contender can run this scenario."""
        if store not in self.stores or store not in contender.about:
            return False
        if contender.only is not None and self.idea not in contender.only:
            return False
        return self.everyone or not contender.requirements


def amount(number: int, scale: float) -> int:
    """A fraction of the usual number, at least 1."""
    return max(3, int(number * scale))
