"""Measure, and print a table: medians of several rounds on fresh storage, in alternating order."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sqlite3
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import limits, measured

Round = Callable[[Path], float]


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/holdfast.db"


def scenarios(scale: float) -> dict[str, tuple[Round, Round]]:
    """By name: Holdfast's round, and the limit's."""
    jobs, singles = int(10_000 * scale), int(500 * scale)
    loop: Round = lambda folder: asyncio.run(limits.tasks(10 * jobs))  # noqa: E731 - a round, like the others
    found: dict[str, tuple[Round, Round]] = {
        "sqlite: one start at a time": (
            lambda folder: asyncio.run(measured.starts_one_by_one(sqlite(folder), singles)),
            lambda folder: limits.starts_one_by_one(folder / "limit.db", singles),
        ),
        "sqlite: bulk start": (
            lambda folder: asyncio.run(measured.starts_together(sqlite(folder), jobs)),
            lambda folder: limits.starts_together(folder / "limit.db", jobs),
        ),
        "sqlite: start and wait": (
            lambda folder: asyncio.run(measured.round_trip(sqlite(folder), singles)),
            lambda folder: limits.starts_one_by_one(folder / "limit.db", singles),
        ),
    }
    for concurrency in (10, 100):
        found[f"sqlite: drain, concurrency {concurrency}"] = (
            lambda folder, slots=concurrency: asyncio.run(measured.drain(sqlite(folder), jobs, slots)),  # type: ignore[misc]
            lambda folder, slots=concurrency: limits.drain(folder / "limit.db", jobs, slots),  # type: ignore[misc]
        )
    found["memory: drain, concurrency 100"] = (lambda folder: asyncio.run(measured.drain("memory://", jobs, 100)), loop)
    return found


def measure(ours: Round, limit: Round, rounds: int) -> tuple[list[float], list[float]]:
    """Every round on fresh storage, now one first, now the other."""
    mine: list[float] = []
    theirs: list[float] = []
    for number in range(rounds):
        pairs = [(ours, mine), (limit, theirs)]
        for run, figures in pairs if number % 2 else reversed(pairs):
            with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
                figures.append(run(Path(folder)))
    return mine, theirs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="how many jobs, as a part of the usual")
    options = parser.parse_args()
    table = Table(title=f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, synchronous=FULL")
    for heading in ("scenario", "Holdfast /s", "limit /s", "ratio", "spread"):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for name, (ours, limit) in scenarios(options.scale).items():
        mine, theirs = measure(ours, limit, options.rounds)
        middle, top = statistics.median(mine), statistics.median(theirs)
        spread = (max(mine) - min(mine)) / middle
        table.add_row(name, f"{middle:,.0f}", f"{top:,.0f}", f"{middle / top:.0%}", f"±{spread / 2:.0%}")
    Console().print(table)


if __name__ == "__main__":
    main()
