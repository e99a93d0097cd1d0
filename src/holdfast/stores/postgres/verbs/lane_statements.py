"""The statements of a claim of jobs with lanes, sent in two parts: see `claim_lanes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.core.lane_choice import LEVELS
from holdfast.core.lanes import Track
from holdfast.stores.postgres.plan import Begin, Commit, Plan, Result, Together
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.ready_queue import Entry, ReadyQueue
from holdfast.stores.sql.lane_claims import CHANGES, LAST, LaneClaims, LanePlan, as_text
from holdfast.stores.sql.lane_pass import PREFIX, Pass, turns_of
from holdfast.stores.sql.plan import Row, Statement

_READING = ("lanes_begin", "tracks_due", "lanes_find", "lanes_state", "order_jobs", "track_jobs", "plain_priorities")
_ANSWERED = frozenset({SQL["track_next"], SQL["parked_types"]})
"""The statements whose rows decide what is written next."""


class Read(NamedTuple):
    """What the first part of a pass has read."""

    found: Pass
    queue: ReadyQueue
    plain: Sequence[Row]
    """The priorities of the best plain jobs, and how many jobs there are of each."""
    admitted: Sequence[str]
    """The types of new jobs with lanes."""
    turn: int
    """The number of the next turn."""


class Outbox:
    """Statements that are sent together, because the plan does not read their rows."""

    def __init__(self) -> None:
        self.queue: list[Statement | Commit] = []
        self.results: list[Result] = []

    def add(self, instruction: Statement) -> Plan[Result]:
        """Queue a statement. If the plan reads its rows, send it with those before it."""
        self.queue.append(instruction)
        if instruction.sql not in _ANSWERED:
            return Result()
        yield from self.send()
        return self.results[-1]

    def send(self) -> Plan[None]:
        if self.queue:
            parts, self.queue = self.queue, []
            self.results += (yield Together(parts)).parts


class PostgresLanes(LaneClaims):
    """One statement for all types, lanes or rows."""

    def read(self, context: PlanContext, types: list[str], limit: int) -> Plan[Read]:
        """Add the tracks of new jobs. Begin, lock ready tracks and their lanes, and read the jobs of the tracks."""
        given = {
            "types": types,
            "limit": limit,
            "changes": CHANGES,
            "levels": LEVELS,
            "now": context.clock,
            "lanes": None,
        }
        parts = (
            yield Together(
                [Statement(SQL["lanes_admit"], given), Begin(), *(Statement(SQL[each], given) for each in _READING)]
            )
        ).parts
        ((admitted, turn),), _, begun, _, tracks, states, fronts, jobs, plain = parts
        ((context.now, context.listening, _),) = begun
        found, queue, refunds = _found(tracks, limit)
        wanted = {lane for track in found.tracks for lane in track.lanes}.union(refunds)
        if missing := wanted.difference(row[0] for row in states):
            yield Statement(SQL["lanes_add"], {"lanes": as_text(sorted(missing))})
            states = Result((yield from self.lock_lanes(sorted({*wanted, *(row[0] for row in states)}))))
        self.add_lanes(found, states, refunds)
        if "order" in found.kinds:
            self.add_fronts(found, fronts)
        self.add_jobs(found, jobs, limit, context.now)
        return Read(found, queue, plain, admitted, turn)

    def save_read(self, context: PlanContext, read: Read) -> LanePlan[None]:
        """Write what the choice means for lanes, tracks and the queue of tracks. The jobs are claimed already."""
        found, queue = read.found, read.queue
        turns = turns_of(found, read.turn)
        yield from self.add_permits(found)
        changes, empty = yield from self.track_changes(context, found)
        if empty:
            yield Statement(self._sql["tracks_delete"], {"tracks": as_text(empty)})
        served = {track.id: turns[track.id[:PREFIX]] for track, _ in found.choice.taken}
        for change in changes:
            change["turn"] = queue.change(
                change["track"], served.get(change["track"]), change["ready_at"], change["parked"]
            )
        queue.remove(empty)
        written = {*empty, *(change["track"] for change in changes)}
        for track, _ in found.choice.taken:
            if track.parked is None and track.id not in written:
                queue.change(track.id, served[track.id], 0, None)
                written.add(track.id)
        if shared := {prefix: turn for prefix, turn in turns.items() if prefix in queue.shared}:
            yield self._turn_statement(shared, {id[:PREFIX]: id for id in served if id in written})
        if changes:
            yield self.rows_instruction("track_save", changes)
        if rows := queue.rows():
            yield Statement(self._sql["ready_add"], rows)
        yield from self.unpark(context, found)
        yield from self.save_rates(context, found)

    def asked(self, tracks: Sequence[Track]) -> dict[str, Any]:
        return {
            "tracks": [each.id for each in tracks],
            "types": [each.type for each in tracks],
            "priorities": [each.priority for each in tracks],
        }

    def _turn_statement(self, turns: Mapping[str, int], written: Mapping[str, str]) -> Statement:
        """Write the turns of lanes for fairness to their tracks, except for those that are written otherwise."""
        given = {
            "prefixes": list(turns),
            "ends": [prefix + LAST for prefix in turns],
            "served": [written.get(prefix, "") for prefix in turns],
            "turns": list(turns.values()),
        }
        return Statement(SQL["track_turn"], given)

    def rows_instruction(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Statement:
        return Statement(SQL[name], {"rows": as_text(rows)})


def _found(rows: Result, limit: int) -> tuple[Pass, ReadyQueue, dict[str, int]]:
    """The tracks in the rows of `lanes_find`, the queue of tracks, and the weights to refund by lane."""
    found, queue, refunds = Pass(changed=bool(rows[0][2])), ReadyQueue(), dict[str, int]()
    for track, type, priority, fair, lanes, turn, parked, row, shared in rows[1:]:
        if track is None:
            if type == "refund":
                refunds[parked] = priority
            else:
                found.behind[parked] = max(priority, found.behind.get(parked, priority))
            continue
        queue.add(track, Entry(type, priority, turn, row), waits=parked is None)
        if fair is None:
            # Its turn has changed: another pass reads it in its new place.
            found.changed |= shared
            continue
        if shared:
            queue.shared.add(track[:PREFIX])
        found.add_track(Track(track, type, priority, fair, lanes, parked=parked), limit)
    return found, queue, refunds


LANES = PostgresLanes(SQL)
