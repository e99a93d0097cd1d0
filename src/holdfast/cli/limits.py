"""`limits`: show limits, rates and orders with their lanes, and set or reset their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import lasting
from holdfast.core.clock import SECOND
from holdfast.engine.operations import LimitReport

LANES_SHOWN = 5
HOLDERS_SHOWN = 3

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a limit, rate or order.")]
Key = Annotated[str | None, typer.Option("--key", help="Only the lane with this key.")]


@command
def limits(run: Invocation) -> None:
    """Show limits, rates and orders: the number in force, and the lanes with most waiting jobs and their holders."""
    with run.client() as client:
        found = client.limits()
    shown = limit_table(found) if found else tables.text("no limits", "dim")
    run.answer({"limits": [limit_document(limit) for limit in found]}, shown)


@command
def set_limit(
    run: Invocation,
    name: Name,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The new number. 0 pauses.")],
    key: Key = None,
    reason: Reason = None,
) -> None:
    """Set the number of a limit, or of one lane, until it is reset. 0 pauses; running jobs continue."""
    with checked(), run.client() as client:
        client.set_limit(name, number, key, reason=reason)
    run.answer({"limit": name, "key": key, "number": number}, tables.text(f"{name} is {number}{_lane(key)}"))


@command
def reset_limit(run: Invocation, name: Name, key: Key = None, reason: Reason = None) -> None:
    """Return a limit, or one lane, to its declared number."""
    with checked(), run.client() as client:
        client.reset_limit(name, key, reason=reason)
    run.answer({"limit": name, "key": key, "number": None}, tables.text(f"{name} is reset{_lane(key)}"))


def limit_document(limit: LimitReport) -> Document:
    return {
        "name": limit.name,
        "kind": limit.kind,
        "number": limit.number,
        "declared": limit.declared,
        "override": limit.override,
        "per": limit.per / SECOND,
        "burst": limit.burst,
        "lanes": [{**lane._asdict(), "holders": list(lane.holders)} for lane in limit.lanes],
    }


def limit_table(found: Iterable[LimitReport]) -> Sheet:
    """One line per limit, and one per lane. The only lane of a limit without `by` is in the line of the limit."""
    numbers = ("number", "running", "waiting")
    made = Sheet("name", "kind", "number", "key", "running", "waiting", "holders", numbers=numbers)
    for limit in found:
        whole = [(lane.key, lane.override) for lane in limit.lanes] == [("", False)]
        made.add_row(
            tables.text(limit.name), tables.text(limit.kind), tables.text(_number(limit)), tables.text(""),
            tables.text(sum(lane.running for lane in limit.lanes)),
            tables.text(sum(lane.waiting for lane in limit.lanes)),
            tables.text(", ".join(limit.lanes[0].holders[:HOLDERS_SHOWN]) if whole else ""),
        )  # fmt: skip
        for lane in () if whole else limit.lanes[:LANES_SHOWN]:
            made.add_row(
                tables.text(""), tables.text(""), tables.text(f"{lane.number}{'*' if lane.override else ''}"),
                tables.text(lane.key), tables.text(lane.running), tables.text(lane.waiting),
                tables.text(", ".join(lane.holders[:HOLDERS_SHOWN])),
            )  # fmt: skip
    return made


def _number(limit: LimitReport) -> str:
    number = f"{limit.number}{'*' if limit.override else ''}"
    if limit.kind != "rate":
        return number
    return f"{number} per {lasting(limit.per / SECOND).replace('.0s', 's')}, burst {limit.burst}"


def _lane(key: str | None) -> str:
    return "" if key is None else f" for the key {key}"
