"""Simulate a fleet: `python -m benchmarks.fleet --store postgres --workers 1000 --seconds 600`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.fleet.costs import load
from benchmarks.fleet.simulation import Fleet, FleetReport, Plan


def main() -> None:
    default = Plan()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--store", choices=sorted(load()), default="postgres")
    parser.add_argument("--workers", type=int, default=default.workers)
    parser.add_argument("--rate", type=float, default=default.rate, help="jobs per second")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="virtual seconds")
    parser.add_argument("--handler", type=float, default=default.handler, help="mean duration of a handler in seconds")
    parser.add_argument("--cores", type=int, default=default.cores, help="cores of the server")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="real minutes: then report what was simulated"
    )
    parser.add_argument("--report", type=Path, help="a file for the report as JSON")
    options = parser.parse_args()
    plan = Plan(options.workers, options.rate, options.seconds, handler=options.handler, cores=options.cores)
    begun = time.monotonic()

    def emit(seconds: float) -> None:
        print(f"{seconds:.0f} virtual seconds after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)

    report = Fleet(plan, load()[options.store], until=begun + options.minutes * 60).run(emit)
    if options.report is not None:
        options.report.write_text(json.dumps(asdict(report), indent=1) + "\n")
    print(table(report))


def table(report: FleetReport) -> str:
    """The report as the rows of a Markdown table."""
    finished, counts = report.counts.finished or 1, report.counts
    rows = {
        "virtual seconds": f"{report.plan.seconds:.0f}",
        "jobs finished": f"{counts.finished:,}",
        "claims": f"{report.claims:,} ({report.claims / finished:.2f} per job)",
        "empty claims": f"{report.empty_claims:,} ({report.empty_claims / finished:.2f} per job)",
        "jobs in a claim that found some": f"{report.claimed_together:.2f}",
        "wake-up messages sent": f"{report.messages:,} ({report.messages / report.plan.seconds:.0f} per second)",
        "wake-up messages received": f"{report.deliveries:,}",
        "connections": f"{report.connections:,}",
        "load of the server": f"{report.server_load:.0%} of {report.plan.cores} cores",
        "mean delay before a handler": f"{counts.delay / finished * 1000:.1f} ms",
        "longest delay": f"{counts.longest_delay * 1000:.0f} ms",
        "longest wait for a core": f"{report.longest_wait * 1000:.1f} ms",
        **{f"calls: {verb}": f"{calls:,}" for verb, calls in report.calls.items()},
    }
    return "\n".join(f"| {name} | {value} |" for name, value in rows.items())


if __name__ == "__main__":
    main()
