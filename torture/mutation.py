"""Tests of the torture test: ``python -m torture.mutation --store sqlite`` runs each mutant until it is detected.

Exit code 1 if a mutant survives: that is a defect of the workload or the checker.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from torture.checker import Result, check
from torture.fork_server import stop_once
from torture.mutants import MUTANTS
from torture.profiles import Profile
from torture.run import torture

HUNT = Profile(
    seconds=8, workers=2, producers=1, rate=25, lease=1.0, pause=0.5, kill=0.002, stop=0.001, settle=12, largest=20,
    widest=5, sweep=False, supervised=False, calm=0, interrupted=0,
)  # fmt: skip
SUPERVISED = 8.0
"""Additional seconds with a supervisor: until its backlog was unreadable once and every probe was sent."""
TRIES = 3
"""Runs, each with another seed, before a mutant counts as a survivor."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """The result of the runs of one mutant."""

    mutant: str
    store: str
    caught_by: list[int]
    """The expected invariants that were violated."""
    others: list[int]
    seconds: float
    runs: int
    seed: int
    shown: str


def hunt(name: str, store: str, *, seed: int, seconds: float) -> Hunt:
    """Run a mutant until one of its expected invariants is violated."""
    begun = time.monotonic()
    seconds += MUTANTS[name].longer
    noticed: list[int] = []
    shown = ""
    runs = 0
    for runs in range(1, TRIES + 1):
        profile = replace(HUNT, seconds=seconds, settle=HUNT.settle + MUTANTS[name].settle_longer)
        if MUTANTS[name].supervised:
            profile = replace(profile, seconds=seconds + SUPERVISED, supervised=True)
        if MUTANTS[name].interrupted:
            profile = replace(profile, interrupted=1)
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            evidence = torture(store, profile, Path(folder), seed=seed + runs - 1, name="hunt", mutant=name)
            verdicts = check(evidence)
        broken = {verdict.number: verdict for verdict in verdicts if verdict.result is Result.VIOLATED}
        noticed = sorted(broken)
        named = [number for number in MUTANTS[name].caught_by if number in broken]
        if named:
            shown = broken[named[0]].violations[0]
            others = [number for number in noticed if number not in named]
            return Hunt(name, store, named, others, round(time.monotonic() - begun, 1), runs, seed + runs - 1, shown)
    return Hunt(name, store, [], noticed, round(time.monotonic() - begun, 1), runs, seed, shown)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture.mutation", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres", "redis"], default="sqlite")
    parser.add_argument("--only", choices=list(MUTANTS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8.0, help="of load in each run")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args(arguments)
    stop_once()
    hunts: list[Hunt] = []
    for name, mutant in MUTANTS.items():
        if mutant.fits(options.store) and (not options.only or name in options.only):
            found = hunt(name, options.store, seed=options.seed, seconds=options.seconds)
            hunts.append(found)
            by = ", ".join(f"I{number}" for number in found.caught_by) or "NONE"
            line = f"{options.store:<9} {name:<28} caught by {by:<14} in {found.seconds:5.1f} s, {found.runs} runs"
            sys.stdout.write(f"{line}  {found.shown[:160]}\n")
            sys.stdout.flush()
    caught = sum(bool(each.caught_by) for each in hunts)
    sys.stdout.write(f"mutants   caught {caught} / {len(hunts)} on {options.store}\n")
    if options.report is not None:
        options.report.write_text(json.dumps([asdict(each) for each in hunts], indent=2))
    return 0 if caught == len(hunts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
