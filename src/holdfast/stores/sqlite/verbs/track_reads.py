"""How a claim reads tracks and lanes. The write lock of the file is the lock of all lanes."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.clock import Micros
from holdfast.core.lane_choice import jobs_to_read
from holdfast.core.lanes import Lane, LaneKind, Track, WaitingJob
from holdfast.stores.sql.lane_claims import LaneClaims, LanePlan, as_text
from holdfast.stores.sql.lane_pass import Pass
from holdfast.stores.sql.lane_rows import JobRow, TrackRow
from holdfast.stores.sql.plan import PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import FIELDS, SQL

_LANES_ADD = SQL["lanes_add"]
_LANES_STATE = SQL["lanes_state"]
_TRACK_JOB = SQL["track_job"]
_SINGLE_LANE = {"limit": SQL["limit_tracks"], "order": SQL["order_tracks"]}

_FOLLOWING, _RECORD = 5, 6
"""Where the time of the next job is in the columns of these statements, and where the record begins."""
_SEQ, _ID, _CHAIN_ID = (_RECORD + FIELDS.index(name) for name in ("seq", "id", "chain_id"))
_ATTEMPT, _SCHEDULED_AT = (_RECORD + FIELDS.index(name) for name in ("attempt", "scheduled_at"))


class TrackReads(LaneClaims):
    """Reads tracks with one lane, a limit or an order, together with the lane and the first job."""

    def lock_lanes(self, ids: Sequence[str]) -> LanePlan[list[Row]]:
        parameters = {"lanes": as_text(ids)}
        states: list[Row] = yield Statement(_LANES_STATE, parameters)
        if len(states) < len(ids):
            yield Statement(_LANES_ADD, parameters)
            states = yield Statement(_LANES_STATE, parameters)
        return states

    def jobs_statement(self, tracks: Sequence[Track], limit: int, now: Micros) -> Statement:
        if limit == 1:
            return Statement(_TRACK_JOB, self.asked(tracks) | {"now": now})
        return super().jobs_statement(tracks, limit, now)

    def read_together(self, context: PlanContext, found: Pass, rows: Sequence[TrackRow], limit: int) -> LanePlan[bool]:
        asked: dict[str, list[tuple[Track, int]]] = {}
        for row, track in zip(rows, found.tracks, strict=True):
            if row.only_kind is None or row.parked is not None:
                return False
            asked.setdefault(row.only_kind, []).append((track, row.seq))
        answers: dict[str, list[Row]] = {}
        for kind, some in asked.items():
            given = {"tracks": as_text([seq for _, seq in some]), "now": context.now}
            answers[kind] = yield Statement(_SINGLE_LANE[kind], given)
            if len(answers[kind]) < len(some):
                return False
        if "limit" in asked and not _one_each_is_enough(found, answers["limit"], limit, context.now):
            return False
        for kind, some in asked.items():
            _add(found, [track for track, _ in some], answers[kind], is_order=kind == "order", now=context.now)
        return True

    def save(self, context: PlanContext, found: Pass, turn: int) -> LanePlan[None]:
        for track in found.tracks if found.records and found.orders else ():
            # A job at the front of an order that was not taken. Most of them are taken.
            if track.jobs:
                job, row = track.jobs[0], found.records[track.jobs[0].seq]
                at, attempt = row[_SCHEDULED_AT - _RECORD], row[_ATTEMPT - _RECORD]
                front = JobRow(track.id, job.seq, job.id, job.chain_id, attempt, None, None, at, track.type)
                found.fronts[job.chain_id] = front
        yield from super().save(context, found, turn)


def _one_each_is_enough(found: Pass, rows: Sequence[Row], limit: int, now: Micros) -> bool:
    """Whether the claim needs no second job of any track."""
    tracks = found.tracks
    if len(tracks) == limit and tracks[0].priority == tracks[-1].priority:
        return True
    if all(number == 1 for number in jobs_to_read(tracks, limit).values()):
        return True
    return all(_room(row) <= 1 or row[_FOLLOWING] is None or row[_FOLLOWING] > now for row in rows)


def _room(row: Row) -> int:
    """How many jobs the limit allows."""
    number, running = row[2:4]
    return int(number - running)


def _add(found: Pass, tracks: Sequence[Track], rows: Sequence[Row], *, is_order: bool, now: Micros) -> None:
    lanes, records, following = found.lanes, found.records, found.following
    kind: LaneKind = "order" if is_order else "limit"
    found.kinds.add(kind)
    for track, row in zip(tracks, rows, strict=True):
        id, lane_id, number, running, parked, following_at = row[:_RECORD]
        seq, chain_id = row[_SEQ], row[_CHAIN_ID]
        if lane_id not in lanes:
            front = chain_id if is_order else None
            lanes[lane_id] = Lane(lane_id, kind, number, 0, 1, 0, running, front, bool(parked))
        if is_order:
            found.orders[id] = lane_id
        else:
            track.more = following_at is not None and following_at <= now
        following[id] = following_at
        track.jobs.append(WaitingJob(seq, row[_ID], chain_id))
        records[seq] = row[_RECORD:]
