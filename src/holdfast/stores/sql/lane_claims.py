"""Claims of jobs with lanes, for the SQL stores. The statements have the same names and columns in both.

On PostgreSQL, a commit that creates, ends or releases a job with lanes only adds rows to `lane_change`, by its own
statement or by a trigger. Starts and settlements therefore take no lock of a lane. A claim reads these rows, and brings
lanes and tracks up to date. On SQLite only lanes have such rows: a start has the write lock, and writes the tracks
itself.

A claim reads the ready tracks, and the best tracks that are parked at the lanes of the changes. It locks these tracks,
then all their lanes in the order of their ids. Only then it reads how many jobs hold the lanes, so that it sees every
earlier claim of these lanes. A track is parked at a lane only while the lane is locked, and rows of `lane_change` are
applied under the lock too: no change of a lane is missed. A track whose lane is full again stays parked there.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.details import lanes_of
from holdfast.core.lane_choice import jobs_to_read
from holdfast.core.lanes import Track, WaitingJob, fair_prefix, interval, rate_allows_at
from holdfast.stores.sql.lane_pass import Pass, own_lane
from holdfast.stores.sql.lane_rows import JobRow, TrackRow, WakingRow, lane_state, stored_reservation
from holdfast.stores.sql.plan import Many, PlanContext, Row, Statement

R = TypeVar("R")
LanePlan = Generator[Any, Any, R]
"""A plan of either SQL store."""

_NO_WEIGHTS: Mapping[str, int] = {}
_LANE_IDS = msgspec.json.Decoder(list[str])

PREFIX = len(fair_prefix(""))
LAST = "g"
"""Behind the last hexadecimal digit: ids of tracks that begin with a prefix are below the prefix and this character."""

CHANGES = 1000
"""How many changes one claim applies."""


def as_text(values: Any) -> str:
    """A list as one parameter."""
    return msgspec.json.encode(values).decode()


class LaneClaims:
    """The plans, with the statements of one store."""

    def __init__(self, sql: Mapping[str, str]) -> None:
        self._sql = sql

    def ready_parameters(self, types: Collection[str], limit: int) -> Sequence[Mapping[str, Any]]:
        """The parameters of `tracks_ready`, one set per statement."""
        return [{"type": type, "limit": limit} for type in types]

    def woken_parameters(self, pairs: Sequence[WakingRow], limit: int) -> Sequence[Mapping[str, Any]]:
        """The parameters of `tracks_woken`, one set per statement: SQLite allows no limit that depends on the row."""
        by_room: dict[int, list[dict[str, Any]]] = {}
        for pair in pairs:
            by_room.setdefault(min(pair.room, limit), []).append({"lane": pair.lane, "type": pair.type})
        return [{"pairs": as_text(rows), "room": room} for room, rows in by_room.items()]

    def rows_instruction(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Statement | Many:
        """Perform a statement for each of these rows."""
        return Many(self._sql[name], rows)

    def asked(self, tracks: Sequence[Track]) -> dict[str, Any]:
        """The tracks as parameters of the statements that read jobs. SQLite reads the columns of the stored tracks."""
        return {"tracks": as_text([track.id for track in tracks])}

    def jobs_statement(self, tracks: Sequence[Track], limit: int, now: Micros) -> Statement:
        """Read this many due jobs of each of these tracks."""
        return Statement(self._sql["track_jobs"], self.asked(tracks) | {"limit": limit, "now": now})

    def turn_instruction(self, turns: Sequence[tuple[str, int]]) -> Statement | Many:
        """Perform `track_turn` for these beginnings of the ids of tracks."""
        return Many(self._sql["track_turn"], [(number, prefix, prefix + LAST) for prefix, number in turns])

    def find(
        self, context: PlanContext, types: Collection[str], changed: Mapping[str, int], limit: int
    ) -> LanePlan[Pass]:
        """Lock ready tracks and their lanes, and the changed lanes, and read the first jobs of the tracks."""
        found, now = Pass(changed=bool(changed)), context.now
        asked = {"lanes": as_text(list(changed)), "now": now}
        pairs = [WakingRow(*row) for row in (yield Statement(self._sql["lanes_waking"], asked))]
        waking = {pair.lane for pair in pairs} | {lane for lane, refund in changed.items() if refund}
        yield Statement(self._sql["tracks_due"], {"types": as_text(list(types)), "now": now})
        rows: list[TrackRow] = []
        for ready in self.ready_parameters(types, limit):
            rows += [TrackRow(*row) for row in (yield Statement(self._sql["tracks_ready"], ready))]
        wakeable = [pair for pair in pairs if pair.room and pair.type in types]
        for given in self.woken_parameters(wakeable, limit):
            woken = [TrackRow(*row) for row in (yield Statement(self._sql["tracks_woken"], given))]
            found.note_behind(wakeable, woken)
            rows += woken
        if wakeable or len(types) > 1:
            rows.sort(key=lambda row: (-row.priority, row.turn))
        found.tracks = [
            Track(row.track, row.type, row.priority, row.fair, _LANE_IDS.decode(row.lanes), [], row.parked)
            for row in rows[:limit]
        ]
        found.late = [row.track for row in rows[limit:] if row.parked is not None]
        found.unread = rows[limit - 1].priority if 0 < limit <= len(rows) else None
        if rows and not waking and (yield from self.read_together(context, found, rows[:limit], limit)):
            return found
        ids = sorted({*waking, *(lane for track in found.tracks for lane in track.lanes)})
        if not ids:
            return found
        states = yield from self.lock_lanes(ids)
        found.lanes = {row[0]: lane_state(row) for row in states}
        found.kinds = {lane.kind for lane in found.lanes.values()}
        for lane, weight in changed.items():
            if weight and (rate := found.lanes[lane]).number > 0:
                rate.tat -= interval(weight, number=rate.number, per=rate.per)
        yield from self._read_jobs(context, found, limit)
        return found

    def lock_lanes(self, ids: Sequence[str]) -> LanePlan[list[Row]]:
        """Lock these lanes, add those that the store does not have, and read them."""
        locked = {lane for (lane,) in (yield Statement(self._sql["lanes_lock"], {"lanes": as_text(ids)}))}
        if missing := [lane for lane in ids if lane not in locked]:
            for name in ("lanes_add", "lanes_lock"):
                yield Statement(self._sql[name], {"lanes": as_text(missing)})
        states: list[Row] = yield Statement(self._sql["lanes_state"], {"lanes": as_text(ids)})
        return states

    def read_together(self, context: PlanContext, found: Pass, rows: Sequence[TrackRow], limit: int) -> LanePlan[bool]:
        """Read the lanes and the first jobs of these tracks with one statement. False if nothing was read."""
        yield from ()
        return False

    def _read_jobs(self, context: PlanContext, found: Pass, limit: int) -> LanePlan[None]:
        ordered = "order" in found.kinds
        chains = sorted({lane.front for lane in found.lanes.values() if lane.front is not None}) if ordered else []
        if chains:
            for columns in (yield Statement(self._sql["order_jobs"], {"chains": as_text(chains)})):
                row = JobRow(*columns)
                found.fronts[row.chain_id] = row
        if ordered:
            found.tracks = [track for track in found.tracks if not self._waits_in_order(found, track)]
            found.orders = {track.id: lane for track in found.tracks if (lane := _order(found, track)) is not None}
        if not found.tracks:
            return
        by_id = {track.id: track for track in found.tracks}
        plain = [track for track in found.tracks if track.id not in found.orders] if ordered else found.tracks
        by_number: dict[int, list[Track]] = {}
        wanted = jobs_to_read(plain, limit)
        for track in plain:
            by_number.setdefault(wanted[track.priority], []).append(track)
        for number, tracks in by_number.items():
            for columns in (yield self.jobs_statement(tracks, number, context.now)):
                row = JobRow(*columns)
                track = by_id[row.track]
                track.jobs.append(_waiting_job(found, row))
                if len(track.jobs) == number and row.following is not msgspec.UNSET:
                    found.following[row.track] = row.following
                    track.more = row.following is not None and row.following <= context.now
        for id, lane in found.orders.items():
            track = by_id[id]
            front = found.fronts.get(found.lanes[lane].front or "")
            if front is not None and front.track == track.id and front.scheduled_at <= context.now:
                track.jobs.append(_waiting_job(found, front))
                if front.following is not msgspec.UNSET:
                    found.following[track.id] = front.following
            elif front is None and found.lanes[lane].running:
                found.waits[track.id] = lane

    def _waits_in_order(self, found: Pass, track: Track) -> bool:
        """Whether a track stays parked at an order: the job at the front is in another track."""
        if track.parked is None or found.lanes[track.parked].kind != "order":
            return False
        front = found.fronts.get(found.lanes[track.parked].front or "")
        return front is None or front.track != track.id

    def save(self, context: PlanContext, found: Pass, turn: int) -> LanePlan[None]:
        """Write what the choice means for lanes and tracks. The jobs are claimed already."""
        taken, now = found.choice.taken, context.now
        if taken:
            permits = [
                {"lane": lane, "job": job.seq}
                for track, job in (() if found.records else taken)
                if own_lane(found, track) is None
                for lane in track.lanes
            ]
            if permits:
                yield Statement(self._sql["permits_add"], {"permits": as_text(permits)})
            turns = {track.id[:PREFIX]: turn + place for place, (track, _) in enumerate(taken)}
            yield self.turn_instruction(sorted(turns.items()))
        yield from self._save_tracks(context, found)
        yield from self._unpark(context, found)
        lanes: list[dict[str, Any]] = []
        for lane in found.lanes.values() if "rate" in found.kinds else ():
            if lane.kind != "rate":
                continue
            if lane.wake_at is None and lane.parked and lane.free(now) == 0:
                lane.wake_at = rate_allows_at(lane.tat, now, number=lane.number, per=lane.per, burst=lane.burst)
            lanes.append({"lane": lane.id, "tat": lane.tat, "wake_at": lane.wake_at, "hold": stored_reservation(lane)})
        if lanes:
            yield self.rows_instruction("lane_save", lanes)

    def _save_tracks(self, context: PlanContext, found: Pass) -> LanePlan[None]:
        changes: list[dict[str, Any]] = [{"track": id, "ready_at": 0, "parked": None} for id in found.late]
        first = dict(found.following)
        first.update({track.id: context.now for track in found.tracks if track.jobs})
        if unread := [track for track in found.tracks if track.id not in first]:
            first.update((yield Statement(self._sql["track_next"], self.asked(unread))))
        if empty := [each.id for each in found.tracks if first[each.id] is None]:
            yield Statement(self._sql["tracks_delete"], {"tracks": as_text(empty)})
        parked, orders, now = found.choice.parked, found.orders, context.now
        for track in found.tracks:
            at = first[track.id]
            if at is not None and at <= now and track.parked is None and track.id not in parked:
                # Most tracks stay ready, also those of orders: see `_changed_track`.
                lane = orders.get(track.id) if orders else None
                if lane is None or (found.unread is not None and found.lanes[lane].front in found.claimed):
                    continue
            if at is not None and (change := self._changed_track(found, track, at, now)) is not None:
                changes.append(change)
        if changes:
            yield self.rows_instruction("track_save", changes)

    def _changed_track(self, found: Pass, track: Track, at: Micros, now: Micros) -> dict[str, Any] | None:
        """What to write for a track whose first job is due at this time; None if the track stays as it is."""
        parked = found.choice.parked.get(track.id)
        if parked is None and (lane := found.orders.get(track.id)) is not None:
            front = found.lanes[lane].front
            row = found.fronts.get(front or "")
            if front in found.claimed:
                # If there are many ready tracks, this one stays ready: most jobs end before its turn comes again.
                if track.parked is not None or found.unread is None or at > now:
                    parked = lane
            elif row is None or row.track != track.id:
                parked = lane
            else:
                at = row.scheduled_at
        if parked is None and track.parked is not None and found.lanes[track.parked].full:
            parked = track.parked
        if parked is not None:
            found.lanes[parked].parked = True
        if parked == track.parked and (parked is not None or at <= now):
            return None
        return {"track": track.id, "ready_at": 0 if at <= now else at, "parked": parked}

    def _unpark(self, context: PlanContext, found: Pass) -> LanePlan[None]:
        """Make as many parked tracks ready as the lanes have room for, of each type."""
        just_parked = set(found.choice.parked.values())
        room = {
            lane.id: lane.free(context.now)
            for lane in found.lanes.values()
            if lane.parked and lane.id not in just_parked and lane.free(context.now)
        }
        orders = [lane for lane in room if found.lanes[lane].kind == "order"]
        fronts = self._reserving(context, found)
        for lane in orders:
            row = found.fronts.get(found.lanes[lane].front or "")
            if row is not None:
                fronts.append({"lane": lane, "track": row.track})
                context.hints.due.add(row.type)
                found.changed = True
        if fronts:
            yield self.rows_instruction("track_unpark_one", fronts)
        others = sorted(room.keys() - set(orders))
        if others and (pairs := (yield Statement(self._sql["parked_types"], {"lanes": as_text(others)}))):
            rooms = [{"lane": lane, "type": type, "room": room[lane]} for lane, type in sorted(pairs)]
            yield self.rows_instruction("track_unpark", rooms)
            context.hints.due.update(type for _, type in pairs)
            found.changed = True

    def _reserving(self, context: PlanContext, found: Pass) -> list[dict[str, Any]]:
        """The tracks of jobs that reserve a rate and may start now. Perhaps this worker does not claim their types."""
        reserving: list[dict[str, Any]] = []
        for lane in found.lanes.values() if "rate" in found.kinds else ():
            track = lane.reserving(context.now) if lane.kind == "rate" and lane.parked else None
            if track is not None and lane.id in found.choice.parked.values():
                reserving.append({"lane": lane.id, "track": track})
                context.hints.anything = True
                found.changed = True
        return reserving


def _order(found: Pass, track: Track) -> str | None:
    """The first order of a track."""
    for lane in track.lanes:
        if found.lanes[lane].kind == "order":
            return lane
    return None


def _waiting_job(found: Pass, row: JobRow) -> WaitingJob:
    weights = _NO_WEIGHTS
    if row.details is not None and "rate" in found.kinds:
        lanes = lanes_of(row.details)
        weights = _NO_WEIGHTS if lanes is None else {rule.lane: rule.weight for rule in lanes.rules if rule.weight != 1}
    return WaitingJob(row.seq, row.id, row.chain_id, row.counted != row.attempt + 1, weights)
