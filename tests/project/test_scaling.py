"""The page about scaling names the statements that need SKIP LOCKED, and the costs that the ceilings are made from."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.fleet.ceilings import ceilings
from benchmarks.fleet.costs import load
from holdfast.stores.postgres.rows import SQL

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"## {title}\n")
    assert found, title
    return rest.partition("\n## ")[0]


def test_the_page_lists_every_statement_with_skip_locked() -> None:
    needed = {name for name, text in SQL.items() if "skip locked" in text.lower()}

    listed = re.search(
        r"Statements with SKIP LOCKED: (.*?)\n\n", section("Other databases with the protocol of PostgreSQL"), re.DOTALL
    )

    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == needed


def test_the_ceilings_are_those_that_the_measured_costs_give() -> None:
    page = section("Ceilings, calculated")

    for row in ceilings(load()):
        assert row in page
