"""``python -m torture.simulation --first 1 --seconds 60``: one seed after the other; `--only` replays one of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from torture import mutant_loader


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture.simulation", description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--number", type=int, default=10**9, help="how many seeds at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long at most")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="each with its own seeds")
    parser.add_argument("--only", type=int, help="replay this seed and print its report")
    parser.add_argument("--mutant", choices=list(mutant_loader.MUTANTS), help="run until a violation is found")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args(arguments)
    favoured: tuple[str, ...] = ()
    until: tuple[int, ...] = ()
    if options.mutant is not None:
        favoured, until = mutant_loader.MUTANTS[options.mutant].favour, mutant_loader.MUTANTS[options.mutant].caught_by
        mutant_loader.apply(options.mutant, "memory")

    from torture import report
    from torture.checker import check
    from torture.simulation.exploration import explore_at_once
    from torture.simulation.simulation import simulate

    if options.only is not None:
        evidence = simulate(options.only, favoured=favoured)
        summary = report.summary(evidence, check(evidence))
        sys.stdout.write(report.as_text(summary) + "\n")
        return 1 if summary["verdict"] == "INVALID" else 0
    begun = time.monotonic()
    seeds = range(options.first, options.first + options.number)
    seen = explore_at_once(seeds, options.seconds, processes=options.processes, favoured=favoured, until=until)
    elapsed = time.monotonic() - begun
    lines = [
        f"simulation  {seen.simulations} seeds from {options.first} in {elapsed:.1f} s by {options.processes} "
        f"processes, {len(seen.interleavings)} different interleavings: {seen.calls} calls, {seen.faults} failed, "
        f"{seen.crashes} crashes, {seen.changes} changes, {seen.seconds / 3600:.1f} simulated hours",
        f"opportunities {dict(sorted(seen.opportunities.items()))}",
    ]
    for number, broken in sorted(seen.broken.items()):
        lines.append(f"I{number} VIOLATED under seeds {broken[:10]}: {seen.shown[number]}")
    lines.append("verdict     " + ("INVALID" if seen.broken else "VALID"))
    sys.stdout.write("\n".join(lines) + "\n")
    if options.report is not None:
        facts = {name: getattr(seen, name) for name in ("simulations", "calls", "faults", "crashes", "changes")}
        facts |= {"stories": len(seen.interleavings), "seconds": round(elapsed, 1), "opportunities": seen.opportunities}
        facts["broken"] = {number: len(broken) for number, broken in seen.broken.items()}
        options.report.write_text(json.dumps(facts, indent=2))
    return 1 if seen.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
