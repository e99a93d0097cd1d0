"""What a verb is: a value that a store performs."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import msgspec

R = TypeVar("R")


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """Something a store can be asked to perform, with an answer of type R."""

    verb: ClassVar[str]
    writes: ClassVar[bool] = True

    def __repr__(self) -> str:
        """Without the fields: they contain tokens and payloads."""
        return f"<operation {self.verb}>"
