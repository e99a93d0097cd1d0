"""``python -m torture --store sqlite|postgres|redis --profile smoke|ci|evening|night --seed N [--mutant NAME]``.

With `--durability`, Redis runs in one of its weaker modes, and the run counts the acknowledged writes that it loses.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from torture import report
from torture.checker import check
from torture.evidence import Evidence, load
from torture.fork_server import stop_once
from torture.mutants import MUTANTS
from torture.page import as_page
from torture.profiles import PROFILES, Profile
from torture.recovery_times import Measured, measure
from torture.rounds import joined
from torture.run import torture

DURABILITIES = ("always", "everysec", "none", "replica", "lagging replica")


def main(arguments: list[str]) -> int:
    """Exit codes: 0 valid, 1 an invariant is violated, 2 usage, 3 valid, but some verdicts are vacuous."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres", "redis", "memory"], default="sqlite")
    parser.add_argument("--profile", choices=list(PROFILES), default="smoke")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of load in each round, instead of the profile's")
    parser.add_argument("--rounds", type=int, help="instead of the profile's")
    parser.add_argument("--mutant", choices=list(MUTANTS))
    parser.add_argument(
        "--durability", choices=DURABILITIES, default="", help="a weaker mode of Redis, to count its losses"
    )
    parser.add_argument("--faults", nargs="+", default=(), help="kinds of faults to choose from, instead of all")
    parser.add_argument("--allow-vacuous", action="store_true", help="exit with 0 if verdicts are vacuous")
    parser.add_argument("--report", type=Path, help="where to write the report as JSON")
    parser.add_argument("--page", type=Path, help="where to write the report as a page")
    parser.add_argument("--folder", type=Path, help="where to keep the evidence; by default a temporary folder")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="check the evidence of an earlier run again")
    options = parser.parse_args(arguments)
    if options.store == "memory":
        return _simulate(options)
    stop_once()
    if options.check is not None:
        return _report([_judged(load(options.check))], options)
    profile = PROFILES[options.profile]
    if options.seconds is not None:
        profile = replace(profile, seconds=options.seconds)
    if options.durability:
        profile = replace(profile, kill=0.0, stop=0.0, sweep=False, supervised=False, timely=False, calm=0)
    rounds = options.rounds or profile.rounds
    judged: list[Judged] = []
    for number in range(rounds):
        judged.append(_round(profile, options, number, rounds=rounds))
        if rounds > 1:
            reported = f"round {number + 1} of {rounds}, seed {judged[-1][0]['seed']}: {judged[-1][0]['verdict']}\n"
            sys.stdout.write(reported)
            sys.stdout.flush()
            _write(joined(*_columns(judged)), options)
    return _report(judged, options)


Judged = tuple[dict[str, Any], dict[str, Measured]]


def _round(profile: Profile, options: argparse.Namespace, number: int, *, rounds: int) -> Judged:
    """Run one round and check it. With `--folder`, its evidence is kept if it is the only round or is INVALID."""
    with tempfile.TemporaryDirectory(prefix="torture-") as temporary:
        folder = Path(temporary)
        if options.folder is not None:
            folder = options.folder / f"round-{number + 1}" if rounds > 1 else options.folder
            folder.mkdir(parents=True, exist_ok=True)
        evidence = torture(
            options.store, profile, folder, seed=options.seed + number, name=options.profile, mutant=options.mutant,
            durability=options.durability, faults=tuple(options.faults),
        )  # fmt: skip
        judged = _judged(evidence)
        if rounds > 1 and options.folder is not None and judged[0]["verdict"] != "INVALID":
            shutil.rmtree(folder)
        return judged


def _judged(evidence: Evidence) -> Judged:
    return report.summary(evidence, check(evidence)), measure(evidence)


def _columns(judged: list[Judged]) -> tuple[list[dict[str, Any]], list[dict[str, Measured]]]:
    return [summary for summary, _ in judged], [measured for _, measured in judged]


def _report(judged: list[Judged], options: argparse.Namespace) -> int:
    summary = joined(*_columns(judged))
    sys.stdout.write(report.as_text(summary) + "\n")
    _write(summary, options)
    if summary["verdict"] == "INVALID":
        return 1
    # A run of a mutant or of a weaker mode has another purpose than complete coverage.
    vacuous_allowed = options.allow_vacuous or options.mutant or options.durability
    return 3 if report.vacuous_lines(summary["verdicts"]) and not vacuous_allowed else 0


def _write(summary: dict[str, Any], options: argparse.Namespace) -> None:
    if options.report is not None:
        options.report.write_bytes(report.as_json(summary))
    if options.page is not None:
        options.page.write_text(as_page(summary), encoding="utf-8")


def _simulate(options: argparse.Namespace) -> int:
    """The memory store lives in one process, so its runs are simulations: as many seeds as the profile has time for."""
    from torture.simulation.__main__ import main as simulation

    profile = PROFILES[options.profile]
    seconds = options.seconds or min(profile.seconds * profile.rounds, 3600)
    arguments = ["--first", str(options.seed), "--seconds", str(seconds)]
    arguments += ["--report", str(options.report)] if options.report is not None else []
    arguments += ["--mutant", options.mutant] if options.mutant is not None else []
    return simulation(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
