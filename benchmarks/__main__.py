"""``make bench``: measure what was chosen, and write RESULTS.md, results.svg and results.json of all figures so far."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.chart import chart
from benchmarks.contenders import peers
from benchmarks.report import report
from benchmarks.results import Results
from benchmarks.runner import LIBRARY, Choice, run
from benchmarks.scenarios import SCENARIOS
from benchmarks.storage import STORES

FOLDER = Path(__file__).parent
QUICK = 0.1


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    names = {each.name.lower(): each.name for each in peers()}
    chosen = [each for each in options.peers.lower().split(",") if each]
    wrong = [each for each in chosen if each not in names and each not in ("all", "none")]
    if wrong:
        raise SystemExit(f"no such peer: {', '.join(wrong)}; there are {', '.join(names.values())}, all and none")
    choice = Choice(
        stores=options.only.split(",") if options.only else (*STORES, LIBRARY),
        scenarios=options.scenarios.split(",") if options.scenarios else (),
        peers=None if "all" in chosen else [names[each] for each in chosen if each != "none"],
        rounds=options.rounds or (1 if options.quick else 3),
        scale=options.scale or (QUICK if options.quick else 1.0),
    )
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(None if options.discard else folder / "results.json")
    begun = time.monotonic()

    def emit(line: str) -> None:
        print(f"[{time.monotonic() - begun:5.0f} s] {line}", flush=True)

    def keep() -> None:
        results.write(folder / "results.json")
        (folder / "RESULTS.md").write_text(report(results))
        (folder / "results.svg").write_text(chart(results))

    if not options.report:
        run(choice, results, emit, keep=keep)
    keep()
    print(f"wrote RESULTS.md, results.svg and results.json to {folder} in {time.monotonic() - begun:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    ideas = ", ".join(dict.fromkeys(each.idea for each in SCENARIOS))
    parser.add_argument(
        "--only", metavar="STORES", help=f"some of {', '.join((*STORES, LIBRARY))}, with commas between"
    )
    parser.add_argument("--scenarios", metavar="IDEAS", help=f"some of {ideas}, or how they begin")
    parser.add_argument("--peers", default="all", metavar="NAMES", help="peers to run beside: names, all or none")
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the jobs")
    parser.add_argument("--rounds", type=int, help="3, or 1 when quick")
    parser.add_argument("--scale", type=float, help="how many jobs, as a part of the usual")
    parser.add_argument("--output", type=Path, default=FOLDER, help="the folder to write to, and to add to")
    parser.add_argument("--discard", action="store_true", help="discard older figures instead of adding to them")
    parser.add_argument("--report", action="store_true", help="measure nothing: write the report and the chart again")
    return parser


if __name__ == "__main__":
    main()
