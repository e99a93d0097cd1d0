"""Which due jobs a claim takes ahead of free slots. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def claimable(types: Sequence[str], ahead: Collection[str], limit: int) -> int:
    """How many due jobs a claim takes, given by their types, best first.

    It takes `limit` jobs of any type, and all the others before the first job whose type is not in `ahead`.
    """
    allowed = next((place for place, type in enumerate(types) if type not in ahead), len(types))
    return min(max(limit, allowed), len(types))
