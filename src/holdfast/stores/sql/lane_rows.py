"""The rows of the statements about lanes, by name. The columns have this order in both SQL stores."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lanes import Lane, LaneKind


class WakingRow(NamedTuple):
    """A row of `lanes_waking`."""

    lane: str
    type: str | None
    """A type of tracks that are parked at the lane."""
    room: int
    """For how many jobs the lane seems to have room."""


class TrackRow(NamedTuple):
    """A row of `tracks_ready` and `tracks_woken`."""

    track: str
    type: str
    priority: int
    fair: str
    lanes: str
    """JSON: the ids of the lanes."""
    turn: int
    parked: str | None


class LaneRow(NamedTuple):
    """A row of `lanes_state`."""

    lane: str
    kind: LaneKind
    number: int
    per: Micros
    burst: int
    tat: Micros
    running: int
    front: str | None
    """Of an order: the chain at the front."""
    parked: bool
    wakes: bool

    def as_lane(self) -> Lane:
        """The state of the lane at the start of a claim. SQLite has numbers for truth values."""
        return Lane(
            self.lane, self.kind, self.number, self.per, self.burst, self.tat, self.running, self.front,
            bool(self.parked), wakes=bool(self.wakes),
        )  # fmt: skip


class JobRow(NamedTuple):
    """A row of `track_jobs` and `order_jobs`: a job that may be claimed."""

    track: str
    seq: int
    id: str
    chain_id: str
    attempt: int
    counted: int | None
    details: str | None
    """None if the job has no weight."""
    scheduled_at: Micros
    type: str
    following: Micros | None = None
    """Only in `track_jobs`: when the first job of the track is due that the statement did not ask for."""
