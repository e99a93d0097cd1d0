"""Claims of jobs with lanes, for the SQL stores. The statements have the same names and columns in both.

A commit that creates, ends or releases a job with lanes only adds rows to `lane_change`, by a trigger. Starts and
settlements therefore take no lock of a lane. A claim reads these rows, and brings lanes and tracks up to date.

A claim reads the ready tracks, and the best tracks that are parked at the lanes of the changes. It locks these tracks,
then all their lanes in the order of their ids. Only then it reads how many jobs hold the lanes, so that it sees every
earlier claim of these lanes. A track is parked at a lane only while the lane is locked, and rows of `lane_change` are
applied under the lock too: no change of a lane is missed. A track whose lane is full again stays parked there.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.details import lanes_of
from holdfast.core.lanes import Choice, Lane, LaneKind, Track, WaitingJob, choose, interval, rate_allows_at
from holdfast.stores.sql.lane_rows import JobRow, LaneRow, TrackRow, WakingRow
from holdfast.stores.sql.plan import Many, PlanContext, Row, Statement

R = TypeVar("R")
LanePlan = Generator[Any, Any, R]
"""A plan of either SQL store."""

CHANGES = 1000
"""How many changes one claim applies."""


def as_text(values: Any) -> str:
    """A list as one parameter."""
    return msgspec.json.encode(values).decode()


@dataclass(slots=True)
class Pass:
    """What one pass over the ready tracks has found and chosen."""

    tracks: list[Track] = field(default_factory=list[Track])
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    choice: Choice = field(default_factory=Choice)
    late: list[str] = field(default_factory=list[str])
    """Parked tracks that may run, beyond the limit of the claim: they become ready."""
    changed: bool = False
    """Whether changes were applied, or tracks became ready: another pass may find more jobs."""
    fronts: dict[str, JobRow] = field(default_factory=dict[str, JobRow])
    """Chain at the front of an order to the row of its pending job."""
    following: dict[str, Micros | None] = field(default_factory=dict[str, "Micros | None"])
    """Track of which as many jobs were read as asked for, to the time at which the next one is due. None: no more."""
    claimed: set[str] = field(default_factory=set[str])
    """The chains of the chosen jobs."""
    kinds: set[LaneKind] = field(default_factory=set[LaneKind])
    """The kinds of the lanes."""

    @property
    def idle(self) -> set[str]:
        """The tracks without a due job. They are put back before jobs are chosen: they would use slots of the claim."""
        return {track.id for track in self.tracks if not track.jobs}


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

    def apply_changes(self, context: PlanContext, turn: int) -> LanePlan[dict[str, int]]:
        """Take changes, and add the tracks of new jobs. Returns the changed lanes, each with the weight to refund."""
        rows = yield Statement(self._sql["lane_changes"], {"limit": CHANGES})
        if not rows:
            return {}
        yield Statement(self._sql["lane_changes_delete"], {"seqs": as_text([row[0] for row in rows])})
        tracks: dict[str, dict[str, Any]] = {}
        limits: dict[str, dict[str, Any]] = {}
        lanes: set[str] = set()
        for _, _, track, details, _ in rows:
            if track is None or track in tracks or (found := lanes_of(details)) is None:
                continue
            tracks[track] = {"track": track, "fair": found.fair, "turn": turn + len(tracks)}
            tracks[track]["lanes"] = as_text([rule.lane for rule in found.rules])
            tracks[track]["type"], tracks[track]["priority"] = found.type, found.priority
            for rule in found.rules:
                lanes.add(rule.lane)
                limits[rule.name] = {
                    "name": rule.name, "kind": rule.kind, "number": rule.number, "per": rule.per, "burst": rule.burst,
                }  # fmt: skip
        if tracks:
            yield Statement(self._sql["limits_add"], {"limits": as_text([limits[name] for name in sorted(limits)])})
            yield Statement(self._sql["lanes_add"], {"lanes": as_text(sorted(lanes))})
            yield Statement(self._sql["tracks_add"], {"tracks": as_text([tracks[id] for id in sorted(tracks)])})
            context.hints.due.update(each["type"] for each in tracks.values())
        return changed_lanes((lane, refund) for _, lane, _, _, refund in rows)

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
            rows += map(TrackRow._make, (yield Statement(self._sql["tracks_ready"], ready)))
        for woken in self.woken_parameters([pair for pair in pairs if pair.room and pair.type in types], limit):
            rows += map(TrackRow._make, (yield Statement(self._sql["tracks_woken"], woken)))
        rows.sort(key=lambda row: (-row.priority, row.turn))
        for row in rows[:limit]:
            lanes = msgspec.json.decode(row.lanes, type=list[str])
            found.tracks.append(Track(row.track, row.type, row.priority, row.fair, lanes, parked=row.parked))
        found.late = [row.track for row in rows[limit:] if row.parked is not None]
        ids = sorted({*waking, *(lane for track in found.tracks for lane in track.lanes)})
        if not ids:
            return found
        locked = {lane for (lane,) in (yield Statement(self._sql["lanes_lock"], {"lanes": as_text(ids)}))}
        if missing := [lane for lane in ids if lane not in locked]:
            for name in ("lanes_add", "lanes_lock"):
                yield Statement(self._sql[name], {"lanes": as_text(missing)})
        states = map(LaneRow._make, (yield Statement(self._sql["lanes_state"], {"lanes": as_text(ids)})))
        found.lanes = {row.lane: row.as_lane() for row in states}
        found.kinds = {lane.kind for lane in found.lanes.values()}
        for lane, weight in changed.items():
            if weight and (rate := found.lanes[lane]).number > 0:
                rate.tat -= interval(weight, number=rate.number, per=rate.per)
        yield from self._read_jobs(context, found, limit)
        return found

    def _read_jobs(self, context: PlanContext, found: Pass, limit: int) -> LanePlan[None]:
        chains = sorted({lane.front for lane in found.lanes.values() if lane.front is not None})
        if chains:
            for columns in (yield Statement(self._sql["order_jobs"], {"chains": as_text(chains)})):
                row = JobRow(*columns)
                found.fronts[row.chain_id] = row
        found.tracks = [track for track in found.tracks if not self._waits_in_order(found, track)]
        if not found.tracks:
            return
        number = -(-limit // len(found.tracks))
        plain = [track for track in found.tracks if not self._orders(found, track)]
        parameters = {"tracks": _asked(plain), "limit": number, "now": context.now}
        rows: list[Row] = (yield Statement(self._sql["track_jobs"], parameters)) if plain else []
        by_id = {track.id: track for track in found.tracks}
        for row in map(JobRow._make, rows):
            track = by_id[row.track]
            track.jobs.append(_waiting_job(found, row))
            if len(track.jobs) == number:
                found.following[row.track] = row.following
        for track in found.tracks:
            for lane in self._orders(found, track)[:1]:
                front = found.fronts.get(found.lanes[lane].front or "")
                if front is not None and front.track == track.id and front.scheduled_at <= context.now:
                    track.jobs.append(_waiting_job(found, front))

    def _waits_in_order(self, found: Pass, track: Track) -> bool:
        """Whether a track stays parked at an order: the job at the front is in another track."""
        if track.parked is None or found.lanes[track.parked].kind != "order":
            return False
        front = found.fronts.get(found.lanes[track.parked].front or "")
        return front is None or front.track != track.id

    def _orders(self, found: Pass, track: Track) -> list[str]:
        if "order" not in found.kinds:
            return []
        return [lane for lane in track.lanes if found.lanes[lane].kind == "order"]

    def save(self, context: PlanContext, found: Pass, turn: int) -> LanePlan[None]:
        """Write what the choice means for lanes and tracks. The jobs are claimed already."""
        taken, now = found.choice.taken, context.now
        if taken:
            permits = [
                {"lane": lane, "job": job.seq}
                for track, job in taken
                if own_lane(found, track) is None
                for lane in track.lanes
            ]
            if permits:
                yield Statement(self._sql["permits_add"], {"permits": as_text(permits)})
            turns = {track.fair: turn + place for place, (track, _) in enumerate(taken)}
            rows = [{"fair": fair, "turn": number} for fair, number in sorted(turns.items())]
            yield self.rows_instruction("track_turn", rows)
        yield from self._save_tracks(context, found)
        yield from self._unpark(context, found)
        lanes: list[dict[str, Any]] = []
        for lane in found.lanes.values():
            if lane.kind != "rate":
                continue
            if lane.wake_at is None and lane.parked and lane.free(now) == 0:
                lane.wake_at = rate_allows_at(lane.tat, now, number=lane.number, per=lane.per, burst=lane.burst)
            lanes.append({"lane": lane.id, "tat": lane.tat, "wake_at": lane.wake_at})
        if lanes:
            yield self.rows_instruction("lane_save", lanes)

    def _save_tracks(self, context: PlanContext, found: Pass) -> LanePlan[None]:
        changes: list[dict[str, Any]] = [{"track": id, "ready_at": 0, "parked": None} for id in found.late]
        first = dict(found.following)
        first.update({track.id: context.now for track in found.tracks if track.jobs})
        if unread := [track for track in found.tracks if track.id not in first]:
            first.update((yield Statement(self._sql["track_next"], {"tracks": _asked(unread)})))
        if empty := [each.id for each in found.tracks if first[each.id] is None]:
            yield Statement(self._sql["tracks_delete"], {"tracks": as_text(empty)})
        for track in found.tracks:
            at = first[track.id]
            if at is not None and (change := self._changed_track(found, track, at, context.now)) is not None:
                changes.append(change)
        if changes:
            yield self.rows_instruction("track_save", changes)

    def _changed_track(self, found: Pass, track: Track, at: Micros, now: Micros) -> dict[str, Any] | None:
        """What to write for a track whose first job is due at this time; None if the track stays as it is."""
        parked = found.choice.parked.get(track.id)
        for lane in self._orders(found, track)[:1] if parked is None else ():
            front = found.lanes[lane].front
            row = found.fronts.get(front or "")
            if row is None or row.track != track.id or front in found.claimed:
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
        fronts: list[dict[str, Any]] = []
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


def changed_lanes(rows: Iterable[tuple[str | None, int | None]]) -> dict[str, int]:
    """The lanes in these changes, each with the weight to refund."""
    changed: dict[str, int] = {}
    for lane, refund in rows:
        if lane is not None:
            changed[lane] = changed.get(lane, 0) + (refund or 0)
    return changed


def choose_jobs(found: Pass, plain: Sequence[int], *, limit: int, now: Micros, lanes_next: bool) -> Choice:
    """Choose from the tracks and the plain jobs with these priorities."""
    found.choice = choose(found.tracks, found.lanes, plain, limit=limit, now=now, lanes_next=lanes_next)
    found.claimed = {job.chain_id for _, job in found.choice.taken}
    return found.choice


def own_lane(found: Pass, track: Track) -> str | None:
    """The lane that a running job of this track holds by its row alone: that of its limit, if it has no other lane."""
    lane = track.lanes[0]
    return lane if len(track.lanes) == 1 and found.lanes[lane].kind == "limit" else None


def counted_jobs(found: Pass) -> list[int]:
    """The seqs of the chosen jobs that have a rate."""
    return [
        job.seq
        for track, job in (found.choice.taken if "rate" in found.kinds else ())
        if job.counts and any(found.lanes[lane].kind == "rate" for lane in track.lanes)
    ]


def _asked(tracks: Iterable[Track]) -> str:
    return as_text([{"track": each.id, "type": each.type, "priority": each.priority} for each in tracks])


def _waiting_job(found: Pass, row: JobRow) -> WaitingJob:
    weights: dict[str, int] = {}
    if row.details is not None and "rate" in found.kinds:
        lanes = lanes_of(row.details)
        weights = {} if lanes is None else {rule.lane: rule.weight for rule in lanes.rules if rule.weight != 1}
    return WaitingJob(row.seq, row.id, row.chain_id, row.counted != row.attempt + 1, weights)
