"""The final screen: the counts from the store and from the ledger."""

from __future__ import annotations

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from holdfast.demo.verdict import Verdict


def summary(verdict: Verdict) -> RenderableType:
    """The verdict as text."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(justify="right", style="bold")
    rows.add_column()
    for count, meaning in (
        (f"{verdict.completed} of {verdict.chains}", "chains completed"),
        (verdict.jobs, f"jobs, in {verdict.attempts} attempts"),
        (verdict.retried, "jobs took several: a declined card, a killed worker"),
        (verdict.approved, "orders approved from outside"),
        (f"{verdict.recovered} of {verdict.held_when_killed}", "jobs of the killed worker taken over"),
        (verdict.lost, "jobs lost"),
        (verdict.committed_twice, "jobs committed twice"),
        (f"{verdict.billed:,} of {verdict.ordered:,}", "billed of what was ordered"),
    ):
        rows.add_row(str(count), meaning)
    if verdict.passed:
        colour, text = "green", f"All completed, none lost, none committed twice. {verdict.seconds:.0f} s."
        rest = [
            Text(
                "\nRead on: the code of this demo is src/holdfast/demo, the guide is docs/quickstart.md.",
                "bright_black",
            )
        ]
    else:
        colour, text = "red", "The demo failed."
        rest = [Text(f"- {each}", "red") for each in verdict.wrong]
    return Panel(
        Group(rows, "", Text(text, f"bold {colour}"), *rest),
        box=ROUNDED,
        border_style=colour,
        padding=(1, 2),
        width=80,
    )
