"""``python -m torture --store sqlite|postgres|redis --profile smoke|ci|night --seed N [--mutant NAME]``.

With `--durability` Redis runs in one of its weaker modes, and what it loses is counted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from torture import report
from torture.checker import check
from torture.evidence import load
from torture.mutations import MUTANTS
from torture.page import as_page
from torture.profiles import PROFILES
from torture.run import torture

DURABILITIES = ("always", "everysec", "none", "replica", "lagging replica")


def main(arguments: list[str]) -> int:
    """Exit codes: 0 valid, 1 an invariant is violated, 2 usage."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres", "redis", "memory"], default="sqlite")
    parser.add_argument("--profile", choices=list(PROFILES), default="smoke")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of load, instead of the profile's")
    parser.add_argument("--mutant", choices=list(MUTANTS))
    parser.add_argument(
        "--durability", choices=DURABILITIES, default="", help="a weaker mode of Redis, to see its losses"
    )
    parser.add_argument("--faults", nargs="+", default=(), help="kinds of faults to choose from, instead of all")
    parser.add_argument("--report", type=Path, help="where to write the report as JSON")
    parser.add_argument("--page", type=Path, help="where to write the report as a page")
    parser.add_argument("--folder", type=Path, help="where to leave the evidence; a temporary one otherwise")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="judge the evidence of an earlier run again")
    options = parser.parse_args(arguments)
    # Asked to stop, it leaves no server and no disk behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    if options.store == "memory":
        return _simulate(options)
    with tempfile.TemporaryDirectory(prefix="torture-") as temporary:
        if options.check is not None:
            evidence = load(options.check)
        else:
            folder = options.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            profile = PROFILES[options.profile]
            if options.seconds is not None:
                profile = replace(profile, seconds=options.seconds)
            if options.durability:
                profile = replace(profile, kill=0.0, stop=0.0, sweep=False, supervised=False, timely=False, calm=0)
            evidence = torture(
                options.store, profile, folder, seed=options.seed, name=options.profile, mutant=options.mutant,
                durability=options.durability, faults=tuple(options.faults),
            )  # fmt: skip
        verdicts = check(evidence)
    summary = report.summary(evidence, verdicts)
    sys.stdout.write(report.as_text(summary) + "\n")
    if options.report is not None:
        options.report.write_bytes(report.as_json(summary))
    if options.page is not None:
        options.page.write_text(as_page(summary), encoding="utf-8")
    return 1 if summary["verdict"] == "INVALID" else 0


def _simulate(options: argparse.Namespace) -> int:
    """The memory store is in one process: there, everything is simulated. As many seeds as the profile has time for."""
    from torture.simulation.__main__ import main as simulation

    seconds = options.seconds or min(PROFILES[options.profile].seconds, 3600)
    arguments = ["--first", str(options.seed), "--seconds", str(seconds)]
    arguments += ["--report", str(options.report)] if options.report is not None else []
    arguments += ["--mutant", options.mutant] if options.mutant is not None else []
    return simulation(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
