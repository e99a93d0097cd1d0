"""The batches of one prune, for the SQL stores."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")

CLEARED_BATCHES = 20
"""Chains whose key is not free yet do not count towards the limit. At most this many times the limit are cleared in one
transaction."""


def prune_batches(
    prune_batch: Callable[[int], Generator[T, Any, tuple[list[str], bool]]], limit: int
) -> Generator[T, Any, list[str]]:
    """Delete up to `limit` expired chains. Returns their ids.

    `prune_batch` deletes or clears up to a number of expired chains. It returns the deleted ones, and whether some were
    cleared: then there may be more.
    """
    pruned: list[str] = []
    for _ in range(CLEARED_BATCHES):
        deleted, cleared = yield from prune_batch(limit - len(pruned))
        pruned += deleted
        if not cleared or len(pruned) == limit:
            break
    return pruned
