"""Instructions that a connection sends at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.stores.postgres.plan import Begin, Commit
from holdfast.stores.sql.plan import Statement


class Pipeline(NamedTuple):
    """Statements that are sent at once."""

    statements: Sequence[Statement]

    @classmethod
    def of(cls, parts: Sequence[Statement | Begin | Commit]) -> Pipeline:
        return cls([part if isinstance(part, Statement) else Statement(part.sql) for part in parts])


def is_open_after(parts: Sequence[Statement | Begin | Commit], before: bool) -> bool:
    """Whether a transaction is open after these instructions."""
    for part in reversed(parts):
        if not isinstance(part, Statement):
            return isinstance(part, Begin)
    return before
