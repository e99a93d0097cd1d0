"""One pass of a claim over the ready tracks, for the SQL stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.core.clock import Micros
from holdfast.core.lane_choice import Choice, choose
from holdfast.core.lanes import Lane, LaneKind, Track
from holdfast.stores.sql.lane_rows import JobRow, TrackRow, WakingRow
from holdfast.stores.sql.plan import Row


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
    """By the chain at the front of an order: the row of its pending job."""
    orders: dict[str, str] = field(default_factory=dict[str, str])
    """By track: its first order."""
    following: dict[str, Micros | None] = field(default_factory=dict[str, "Micros | None"])
    """By track, if as many of its jobs were read as asked for: when the next job is due. None: there is no next job."""
    claimed: set[str] = field(default_factory=set[str])
    """The chains of the chosen jobs."""
    kinds: set[LaneKind] = field(default_factory=set[LaneKind])
    """The kinds of the lanes."""
    unread: int | None = None
    """The priority of the last track, if there may be further ones."""
    records: dict[int, Row] = field(default_factory=dict[int, Row])
    """On SQLite: the records of jobs that were read with their tracks. Each such track has one lane, and no rate."""
    behind: dict[str, int] = field(default_factory=dict[str, int])
    """By lane, the highest possible priority of the tracks that stay parked there and are not read."""
    waits: dict[str, str] = field(default_factory=dict[str, str])
    """By track: its order, if a job of the order is running."""

    def note_behind(self, pairs: Iterable[WakingRow], woken: Sequence[TrackRow]) -> None:
        """Note the lanes at which more tracks may be parked than the claim reads."""
        priorities: dict[tuple[str | None, str], list[int]] = {}
        for row in woken:
            priorities.setdefault((row.parked, row.type), []).append(row.priority)
        for pair in pairs:
            here = priorities.get((pair.lane, pair.type or ""), [])
            if len(here) >= pair.room:
                self.behind[pair.lane] = max(min(here), self.behind.get(pair.lane, min(here)))

    @property
    def idle(self) -> set[str]:
        """The tracks without a due job. They are put back before jobs are chosen: they would use slots of the claim."""
        return {track.id for track in self.tracks if not track.jobs and track.id not in self.waits}


def changed_lanes(rows: Iterable[tuple[str | None, int | None]]) -> dict[str, int]:
    """The lanes in these changes, each with the weight to refund."""
    changed: dict[str, int] = {}
    for lane, refund in rows:
        if lane is not None:
            changed[lane] = changed.get(lane, 0) + (refund or 0)
    return changed


def choose_jobs(found: Pass, plain: Sequence[int], *, limit: int, now: Micros, lanes_next: bool) -> Choice:
    """Choose from the tracks and the plain jobs with these priorities."""
    found.choice = choose(
        found.tracks,
        found.lanes,
        plain,
        limit=limit,
        now=now,
        lanes_next=lanes_next,
        unread=found.unread,
        behind=found.behind,
    )
    found.choice.parked.update(found.waits)
    found.claimed = {job.chain_id for _, job in found.choice.taken}
    return found.choice


def own_lane(found: Pass, track: Track) -> str | None:
    """The lane whose permit is in the row of a running job of this track: a limit or order, if it has no other lane."""
    lanes = track.lanes
    return lanes[0] if len(lanes) == 1 and found.lanes[lanes[0]].kind != "rate" else None


def counted_jobs(found: Pass) -> list[int]:
    """The seqs of the chosen jobs that have a rate."""
    return [
        job.seq
        for track, job in (found.choice.taken if "rate" in found.kinds else ())
        if job.counts and any(found.lanes[lane].kind == "rate" for lane in track.lanes)
    ]
