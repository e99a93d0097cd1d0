"""``python -m torture.simulation --first 1 --seconds 60``: one seed after the other; `--only` replays one of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torture import mutant_loader

if TYPE_CHECKING:
    from torture.simulation.exploration import Seen


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    favoured: tuple[str, ...] = ()
    until: tuple[int, ...] = ()
    if options.mutant is not None:
        favoured, until = mutant_loader.MUTANTS[options.mutant].favour, mutant_loader.MUTANTS[options.mutant].caught_by
        mutant_loader.apply(options.mutant, "memory")
    if options.only is not None:
        return _replay(options.only, favoured)

    from torture.simulation.exploration import explore_at_once  # after the mutant was applied

    begun = time.monotonic()
    seeds = range(options.first, options.first + options.number)
    seen = explore_at_once(seeds, options.seconds, processes=options.processes, favoured=favoured, until=until)
    elapsed = time.monotonic() - begun
    sys.stdout.write("\n".join(_lines(seen, options, elapsed)) + "\n")
    if options.report is not None:
        options.report.write_text(json.dumps(_facts(seen, elapsed), indent=2))
    return 1 if seen.broken else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture.simulation", description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--number", type=int, default=10**9, help="how many seeds at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long at most")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="each with its own seeds")
    parser.add_argument("--only", type=int, help="replay this seed and print its report")
    parser.add_argument("--mutant", choices=list(mutant_loader.MUTANTS), help="run until a violation is found")
    parser.add_argument("--report", type=Path)
    return parser.parse_args(arguments)


def _replay(seed: int, favoured: tuple[str, ...]) -> int:
    from torture import report  # after the mutant was applied
    from torture.checker import check
    from torture.simulation.simulation import simulate

    evidence = simulate(seed, favoured=favoured)
    summary = report.summary(evidence, check(evidence))
    sys.stdout.write(report.as_text(summary) + "\n")
    return 1 if summary["verdict"] == "INVALID" else 0


def _lines(seen: Seen, options: argparse.Namespace, elapsed: float) -> list[str]:
    return [
        f"simulation  {seen.simulations} seeds from {options.first} in {elapsed:.1f} s by {options.processes} "
        f"processes, {len(seen.interleavings)} different interleavings: {seen.calls} calls, {seen.faults} failed, "
        f"{seen.crashes} crashes, {seen.changes} changes, {seen.seconds / 3600:.1f} simulated hours",
        f"opportunities {dict(sorted(seen.opportunities.items()))}",
        *(
            f"I{number} VIOLATED under seeds {broken[:10]}: {seen.shown[number]}"
            for number, broken in sorted(seen.broken.items())
        ),
        "verdict     " + ("INVALID" if seen.broken else "VALID"),
    ]


def _facts(seen: Seen, elapsed: float) -> dict[str, Any]:
    facts = {name: getattr(seen, name) for name in ("simulations", "calls", "faults", "crashes", "changes")}
    facts |= {"stories": len(seen.interleavings), "seconds": round(elapsed, 1), "opportunities": seen.opportunities}
    return facts | {"broken": {number: len(broken) for number, broken in seen.broken.items()}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
