"""The rows of `ready` that a claim has taken, and those that it writes.

A row has tracks of one type and priority that were served or created together. A claim deletes the rows that it reads,
and adds others in the same transaction: some for the tracks that it has served, and some for tracks that stay where
they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.core.clock import Micros
from holdfast.stores.postgres.connection.arrays import literal

MOST = 16
"""Tracks in a row. A claim locks rows: with more tracks per row, claims at the same time would find fewer of them."""
ROWS = 32
"""A claim divides the tracks that it has served among about so many rows, if each row has one or more."""


class Entry(NamedTuple):
    """A track as a claim has read it."""

    type: str
    priority: int
    turn: int
    row: int | None
    """The turn of the first track in the row. None if the track was parked."""


class ReadyQueue:
    """The tracks that a claim has read, and where they belong afterwards."""

    def __init__(self) -> None:
        self.shared: set[str] = set()
        """The beginnings of the ids of tracks whose lane for fairness other tracks have, or that were parked."""
        self._read: dict[str, Entry] = {}
        self._stays: dict[str, Entry] = {}
        self._served: list[tuple[int, str, Entry]] = []
        self._alone: list[tuple[int, str, Entry, Micros]] = []

    def add(self, track: str, entry: Entry, *, waits: bool) -> None:
        """Add a track that the claim has read. `waits`: it was in the queue, where it stays unless it changes."""
        self._read[track] = entry
        if waits:
            self._stays[track] = entry

    def remove(self, tracks: Iterable[str]) -> None:
        """These tracks leave the queue."""
        for track in tracks:
            self._stays.pop(track, None)

    def change(self, track: str, served: int | None, ready_at: Micros, parked: str | None) -> int:
        """Move a track to where it belongs, with the turn in which it was served, if it was. Returns its turn."""
        entry = self._read[track]
        turn = entry.turn if served is None else served
        self._stays.pop(track, None)
        if parked is None:
            if ready_at or served is None:
                self._alone.append((turn, track, entry, ready_at))
            else:
                self._served.append((turn, track, entry))
        return turn

    def rows(self) -> dict[str, list[Any]]:
        """The parameters of `ready_add`; empty if no track is in the queue."""
        rows: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
        for track, entry in self._stays.items():
            rows.setdefault((entry.type, 0, entry.priority, entry.row), []).append((entry.turn, track))
        for turn, track, entry, ready_at in self._alone:
            rows[entry.type, ready_at, entry.priority, track] = [(turn, track)]
        share, places = max(1, min(MOST, len(self._served) // ROWS)), dict[tuple[str, int], int]()
        for turn, track, entry in sorted(self._served):
            level = (entry.type, entry.priority)
            place = places[level] = places.get(level, -1) + 1
            rows.setdefault((entry.type, 0, entry.priority, "served", place // share), []).append((turn, track))
        for row in rows.values():
            row.sort()
        return (
            {
                "types": [key[0] for key in rows],
                "ready_ats": [key[1] for key in rows],
                "priorities": [key[2] for key in rows],
                "firsts": [row[0][0] for row in rows.values()],
                "tracks": [literal([track for _, track in row]) for row in rows.values()],
                "turns": [literal([turn for turn, _ in row]) for row in rows.values()],
            }
            if rows
            else {}
        )
