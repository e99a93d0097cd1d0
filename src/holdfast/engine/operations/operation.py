"""The base class of operations."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import msgspec

R = TypeVar("R")


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """A request that a store performs. Its result has the type R."""

    verb: ClassVar[str]
    writes: ClassVar[bool] = True
    """False for an operation that only reads."""
    repeatable: ClassVar[bool] = True
    """Whether a store may perform it again if it is unknown whether the first time was committed.

    False if a repetition could change or report something else: then the caller gets StoreUnavailable and decides.
    """
    reserved: ClassVar[bool] = False
    """Whether blocking calls of a store use reserved connections for it, so that other calls cannot delay it."""

    def __repr__(self) -> str:
        """Without the fields: they contain tokens and payloads."""
        return f"<operation {self.verb}>"
