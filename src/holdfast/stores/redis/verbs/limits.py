"""Limits: write declarations and numbers of operators, report them, and skip failed jobs in orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from holdfast.core.lanes import Lane, LaneFacts, LaneKind, check_override, lane_id
from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.engine.operations import LimitReport, Operation
from holdfast.engine.operations.limits import HOLDERS_SHOWN
from holdfast.errors import LimitNotFound
from holdfast.stores.limit_reports import LimitRow, reports, shown_lanes
from holdfast.stores.redis.verbs.all_or_none import all_or_none
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import existing

_read_limit = msgspec.msgpack.Decoder(dict[str, Any]).decode
_read_lanes = msgspec.msgpack.Decoder(list[str]).decode
_BEFORE_LANES = 4
"""The values of a stored track before its lanes: see `scripts/shared/lane_state.lua`."""


class HeldOrders(Operation[list[tuple[str, str]]], frozen=True):
    """The orders that these failed jobs hold, as pairs of lane and job. A part of `examine`."""

    verb: ClassVar = "held_orders"
    writes: ClassVar = False
    job_ids: tuple[str, ...]


def declare_limits(op: ops.DeclareLimits) -> ScriptPlan[None]:
    if not op.limits:
        return
    (changed,) = yield [ScriptCall("declare_limits", [tuple(each) for each in op.limits])]
    for name in changed:
        yield from _wake(name.decode())


def set_limit(op: ops.SetLimit) -> ScriptPlan[None]:
    lane = None if op.key is None else lane_id(op.name, op.key)
    (kind,) = yield [ScriptCall("set_limit", (op.name, op.number, lane, op.action, author(op.audit)))]
    if kind is None:
        raise LimitNotFound(op.name)
    check_override(op.name, kind.decode(), op.number)
    yield from _wake(op.name)


def get_limits(op: ops.GetLimits) -> ScriptPlan[list[LimitReport]]:
    ((stored, set_by_operators),) = yield [ScriptCall("get_limits", ("limits",))]
    limits = [_limit_row(name.decode(), packed) for name, packed in _pairs(stored)]
    overrides = {lane.decode(): int(number) for lane, number in _pairs(set_by_operators)}
    waiting: Counter[str] = Counter()
    for page in (yield from _pages("tracks")):
        for packed, number in _pairs(page):
            waiting.update(dict.fromkeys(_read_lanes(packed)[_BEFORE_LANES:], number) if number else {})
    running: dict[str, int] = {}
    holders: dict[str, list[str]] = {}
    for page in (yield from _pages("held")):
        for lane, number, ids in zip(page[::3], page[1::3], page[2::3], strict=True):
            running[lane.decode()], holders[lane.decode()] = number, [id.decode() for id in ids]
    shown = shown_lanes(waiting, running, overrides, op.lanes)
    return reports(limits, shown, waiting=waiting, running=running, overrides=overrides, holders=holders)


def skip(op: ops.SkipJobs) -> ScriptPlan[list[Record]]:
    def call(ids: Sequence[str], check_only: bool) -> ScriptCall:
        return ScriptCall("skip", (ids, check_only, author(op.audit)), ids)

    done = yield from all_or_none(op.job_ids, call, wanted="failed")
    return [job for _, reader in done for job in existing(reader)]


def get_lanes(op: ops.GetLanes) -> ScriptPlan[list[LaneFacts]]:
    (reply,) = yield [ScriptCall("get_lanes", (op.lanes, HOLDERS_SHOWN))]
    found: list[LaneFacts] = []
    for place in range(0, len(reply), 10):
        lane, kind, number, per, burst, tat, running, front, holders, reserved = reply[place : place + 10]
        numbers = (int(number), int(per), int(burst), int(tat), int(running))
        state = _lane(lane.decode(), kind.decode(), numbers, None if front is None else front.decode())
        if reserved:
            state.reserved_by = reserved[0].decode()
            state.reserved_priority, state.reserved_at = int(reserved[1]), int(reserved[2])
        found.append(LaneFacts(state, tuple(each.decode() for each in holders)))
    return found


def held_orders(op: HeldOrders) -> ScriptPlan[list[tuple[str, str]]]:
    (reply,) = yield [ScriptCall("held_orders", op.job_ids, op.job_ids)]
    return [(lane.decode(), id.decode()) for lane, id in _pairs(reply)]


def _lane(lane: str, kind: LaneKind, numbers: tuple[int, int, int, int, int], front: str | None) -> Lane:
    number, per, burst, tat, running = numbers
    return Lane(lane, kind, number, per, burst, tat, running, front)


def _wake(name: str) -> ScriptPlan[None]:
    """Read the lanes of a limit again, a page at a time."""
    cursor = "0"
    while True:
        (reply,) = yield [ScriptCall("wake_lanes", (name, cursor))]
        cursor = reply.decode()
        if cursor == "0":
            return


def _pages(what: str) -> ScriptPlan[list[list[Any]]]:
    pages: list[list[Any]] = []
    cursor = "0"
    while True:
        (reply,) = yield [ScriptCall("get_limits", (what, cursor, HOLDERS_SHOWN))]
        cursor = reply[0].decode()
        pages.append(reply[1:])
        if cursor == "0":
            return pages


def _pairs(values: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _limit_row(name: str, packed: bytes) -> LimitRow:
    stored = _read_limit(packed)
    override = stored.get("override")
    return LimitRow(name, stored["kind"], stored["declared"], stored["per"], stored["burst"], override)
