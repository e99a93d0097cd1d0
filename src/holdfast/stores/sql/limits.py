"""Plans on limits, for the SQL stores. The statements have the same names and columns in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from holdfast.core.details import lanes_of
from holdfast.core.lanes import LaneFacts, LaneRule, check_override, interval, lane_id
from holdfast.engine.operations import DeclareLimits, GetLanes, GetLimits, LimitReport, SetLimit
from holdfast.engine.operations.limits import HOLDERS_SHOWN
from holdfast.errors import LimitNotFound
from holdfast.stores.limit_reports import LimitRow, reports, shown_lanes
from holdfast.stores.sql.lane_claims import LanePlan, as_text
from holdfast.stores.sql.lane_rows import lane_state
from holdfast.stores.sql.plan import PlanContext, Row, Statement


class LimitPlans:
    """The plans, with the statements of one store."""

    def __init__(self, sql: Mapping[str, str]) -> None:
        self._sql = sql

    def declare(self, context: PlanContext, op: DeclareLimits) -> LanePlan[None]:
        """Write declarations that have changed."""
        stored = {row[0]: tuple(row[1:5]) for row in (yield Statement(self._sql["limits_read"]))}
        for each in op.limits:
            if stored.get(each.name) != (each.kind, each.number, each.per, each.burst):
                parameters = {
                    "name": each.name, "kind": each.kind, "number": each.number, "per": each.per, "burst": each.burst,
                }  # fmt: skip
                yield Statement(self._sql["limit_declare"], parameters)
                yield from self.wake(context, each.name)

    def set_number(self, context: PlanContext, op: SetLimit) -> LanePlan[bool]:
        """Set or reset the number of a limit or of a lane. Returns whether it has changed."""
        kinds = {row[0]: row[1] for row in (yield Statement(self._sql["limits_read"]))}
        if op.name not in kinds:
            rule = (yield from self._waiting_rules()).get(op.name)
            if rule is None:
                raise LimitNotFound(op.name)
            kinds[op.name] = rule.kind
            new = {"name": op.name, "kind": rule.kind, "number": rule.number, "per": rule.per, "burst": rule.burst}
            yield Statement(self._sql["limits_add"], {"limits": as_text([new])})
        check_override(op.name, kinds[op.name], op.number)
        changed = yield from self._write_number(op)
        # Without a change too: a caller that set the number before may have ended before it woke the lanes.
        yield from self.wake(context, op.name)
        return changed

    def _write_number(self, op: SetLimit) -> LanePlan[bool]:
        before = yield Statement(self._sql["limit_number"], {"name": op.name})
        if op.key is None:
            written = Statement(self._sql["limit_override"], {"name": op.name, "number": op.number})
        else:
            lane = lane_id(op.name, op.key)
            before = yield Statement(self._sql["lane_number"], {"lane": lane})
            written = Statement(self._sql["lane_override"], {"lane": lane, "number": op.number})
        if (before[0][0] if before else None) == op.number:
            return False
        yield written
        return True

    def wake(self, context: PlanContext, name: str) -> LanePlan[None]:
        """Read the lanes of a limit again: its number has changed."""
        yield Statement(self._sql["limit_wake"], {"name": name})
        context.hints.anything = True

    def lanes(self, op: GetLanes) -> LanePlan[list[LaneFacts]]:
        """The state of lanes, and the jobs that hold them."""
        given = {"lanes": as_text(op.lanes)}
        rows = yield Statement(self._sql["lanes_state"], given)
        holders: dict[str, list[str]] = {}
        for lane, id in (yield Statement(self._sql["lanes_holders"], given)):
            holders.setdefault(lane, []).append(id)
        rules = {rule.lane: rule for rule in op.rules}
        states = {row[0]: lane_state(_declared(row, rules[row[0]])) for row in rows}
        for lane, weight in (yield Statement(self._sql["lanes_refunds"], given)):
            if lane in states and states[lane].kind == "rate" and states[lane].number > 0:
                states[lane].tat -= interval(weight, number=states[lane].number, per=states[lane].per)
        known = [lane for lane in op.lanes if lane in states]
        return [LaneFacts(states[lane], tuple(holders.get(lane, [])[:HOLDERS_SHOWN])) for lane in known]

    def _waiting_rules(self) -> LanePlan[dict[str, LaneRule]]:
        """The limits of waiting jobs that no claim has read yet, by name."""
        found = [lanes_of(details) for details, _ in (yield Statement(self._sql["lanes_waiting"]))]
        return {rule.name: rule for lanes in found if lanes is not None for rule in lanes.rules}

    def report(self, context: PlanContext, op: GetLimits) -> LanePlan[list[LimitReport]]:
        """All limits with their lanes."""
        limits = {row[0]: LimitRow(*row) for row in (yield Statement(self._sql["limits_read"]))}
        waiting: Counter[str] = Counter()
        for details, number in (yield Statement(self._sql["lanes_waiting"])):
            found = lanes_of(details)
            for rule in () if found is None else found.rules:
                waiting[rule.lane] += number
                limits.setdefault(rule.name, LimitRow(rule.name, rule.kind, rule.number, rule.per, rule.burst))
        running: dict[str, int] = dict((yield Statement(self._sql["lanes_running"])))
        overrides: dict[str, int] = dict((yield Statement(self._sql["lanes_overrides"])))
        shown = shown_lanes(waiting, running, overrides, op.lanes)
        held = [lane for lanes in shown.values() for lane in lanes if lane in running]
        holders: dict[str, list[str]] = {}
        for lane, id in (yield Statement(self._sql["lanes_holders"], {"lanes": as_text(held)})) if held else ():
            holders.setdefault(lane, []).append(id)
        return reports(
            list(limits.values()), shown, waiting=waiting, running=running, overrides=overrides, holders=holders
        )


def _declared(row: Row, rule: LaneRule) -> Row:
    """A row of `lanes_state`, with the numbers of the rule if the store does not know the limit yet."""
    lane, kind, *_, tat, running, front, parked, wakes, reservation = row
    if kind is not None:
        return row
    return (lane, rule.kind, rule.number, rule.per, rule.burst, tat, running, front, parked, wakes, reservation)
