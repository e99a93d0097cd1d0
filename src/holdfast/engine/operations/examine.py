"""Operation that checks a store for problems."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

from holdfast.engine.operations.operation import Operation


class Finding(NamedTuple):
    """One line of `holdfast doctor`."""

    level: Literal["ok", "warning", "error"]
    subject: str
    detail: str


class Examine(Operation[list[Finding]], frozen=True):
    """Check the store for problems."""

    verb: ClassVar = "examine"
    writes: ClassVar = False
