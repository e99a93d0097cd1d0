"""Compare starts and drains with an older commit: `python -m benchmarks.compare 36414f8 --store sqlite`.

Each pair is two processes with new storage, one of the older commit and one of this tree. They take turns, so that load
by other programs meets both.
"""

from __future__ import annotations

import argparse
import subprocess
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.compare.pair import MEASUREMENTS, Pair, Turn
from benchmarks.compare.ratios import table
from benchmarks.compare.storages import STORES, storages

ROOT = Path(__file__).parents[2]
PAIRS = 9
TURNS = 2


def main() -> None:
    options = _parser().parse_args()
    with ExitStack() as opened:
        older = opened.enter_context(_checked_out(options.commit))
        for store in options.store.split(","):
            print(table(store, measure(store, (older, ROOT), options)), flush=True)


def measure(store: str, trees: tuple[Path, Path], options: argparse.Namespace) -> list[tuple[Turn, Turn]]:
    """The turns of the older commit and of this tree, beside each other."""
    found: list[tuple[Turn, Turn]] = []
    with storages(store) as new_storage:
        for number in range(options.pairs):
            with Pair(trees, new_storage) as pair:
                for turn in range(options.turns):
                    # The first of two takes the cost of what both leave behind, for example a checkpoint.
                    found += pair.take_turns(options.jobs, later_first=(number + turn) % 2 == 1)
    return found


@contextmanager
def _checked_out(commit: str) -> Generator[Path]:
    """The tree of a commit, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="holdfast-compare-") as folder:
        archive = Path(folder) / "tree.tar"
        command = ["git", "archive", f"--output={archive}", commit, "src"]
        subprocess.run(command, cwd=ROOT, check=True)
        with tarfile.open(archive) as tree:
            tree.extractall(folder, filter="data")
        yield Path(folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("commit", help="the older commit")
    parser.add_argument("--store", default=",".join(STORES), metavar="STORES", help="with commas between")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs of processes, {PAIRS}")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"turns of each process, {TURNS}")
    parser.add_argument("--jobs", type=int, default=7000, help=f"jobs of each of {', '.join(MEASUREMENTS)}")
    return parser


if __name__ == "__main__":
    main()
