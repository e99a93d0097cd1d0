"""The base class of operations."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import msgspec

R = TypeVar("R")


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """A request that a store performs. Its result has the type R."""

    verb: ClassVar[str]
    writes: ClassVar[bool] = True

    def __repr__(self) -> str:
        """Without the fields: they contain tokens and payloads."""
        return f"<operation {self.verb}>"
