"""Holdfast with the mark outside the completion's transaction, as the peers have it."""

from __future__ import annotations

from torture.peers import ours
from torture.peers.ours import enqueue, setup, unfinished

__all__ = ["enqueue", "setup", "unfinished", "work"]


async def work(url: str) -> None:
    """The same worker, whose handlers mark as they go."""
    ours.Where.inside = False
    await ours.work(url)
