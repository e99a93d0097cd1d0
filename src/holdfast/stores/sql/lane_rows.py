"""The rows of the statements about lanes, by name. The columns have this order in both SQL stores."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.lanes import Lane
from holdfast.stores.sql.plan import Row

_RESERVATION = msgspec.json.Decoder(tuple[str, int, Micros])


class WakingRow(msgspec.Struct, gc=False):
    """A row of `lanes_waking`."""

    lane: str
    type: str | None
    """A type of tracks that are parked at the lane."""
    room: int
    """For how many jobs the lane seems to have room."""


class TrackRow(msgspec.Struct, gc=False):
    """A row of `tracks_ready` and `tracks_woken`."""

    track: str
    type: str
    priority: int
    fair: str
    lanes: str
    """JSON: the ids of the lanes."""
    turn: int
    parked: str | None
    only_kind: str | None = None
    """On SQLite: the kind of its only lane, if this is a limit or an order. None if it has several lanes."""
    seq: int = 0
    """On SQLite: the number of the track."""


class JobRow(msgspec.Struct, gc=False):
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
    following: Micros | msgspec.UnsetType | None = msgspec.UNSET
    """When the first job after those of the statement is due. Not in `order_jobs` of PostgreSQL."""


def lane_state(row: Row) -> Lane:
    """A row of `lanes_state`. SQLite has numbers for truth values."""
    id, kind, number, per, burst, tat, running, front, parked, wakes, reservation = row
    lane = Lane(id, kind, number, per, burst, tat, running, front, bool(parked), wakes=bool(wakes))
    if reservation is not None:
        lane.reserved_by, lane.reserved_priority, lane.reserved_at = _RESERVATION.decode(reservation)
    return lane


def stored_reservation(lane: Lane) -> str | None:
    """The reservation of a rate: the track of its job, the priority, and when the rate allows the job."""
    values: tuple[Any, ...] = (lane.reserved_by, lane.reserved_priority, lane.reserved_at)
    return None if lane.reserved_by is None else msgspec.json.encode(values).decode()
