"""Holdfast with the mark outside the completion transaction, as in the peers."""

from __future__ import annotations

from torture.peers import ours
from torture.peers.ours import enqueue, setup, unfinished

__all__ = ["enqueue", "setup", "unfinished", "work"]


async def work(url: str) -> None:
    """The same worker; its handlers write the mark outside the completion transaction."""
    ours.Where.inside = False
    await ours.work(url)
