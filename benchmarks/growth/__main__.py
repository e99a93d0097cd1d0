"""Measure growth: `python -m benchmarks.growth --store sqlite --largest 1000000`. Writes growth.json and growth.svg."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack

from benchmarks.growth.chart import chart
from benchmarks.growth.filling import fill
from benchmarks.growth.operations import GrowthSample
from benchmarks.growth.results import FOLDER, StoreGrowth, load, save, summarise
from benchmarks.growth.servers import STORES, addresses
from benchmarks.machine import machine
from holdfast.stores.address import open_store

ROUNDS = 60
WARM_UP = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--store", choices=STORES, required=True)
    parser.add_argument("--largest", type=int, default=1_000_000, help="finished jobs, and as many pending ones")
    options = parser.parse_args()
    sizes = [10**power for power in range(3, 9) if 10**power <= options.largest]
    growth = load()
    growth[options.store] = measure(options.store, sizes)
    growth = {store: growth[store] for store in STORES if store in growth}
    save(growth)
    (FOLDER / "growth.svg").write_text(chart(growth))
    for name, by_size in growth[options.store].milliseconds.items():
        row = "  ".join(f"{by_size[size]:8.3f}" for size in sizes)
        print(f"{name:15} {row}  x{growth[options.store].ratio(name, sizes[-1]):.2f}")


def measure(store: str, sizes: list[int]) -> StoreGrowth:
    """Fill one store for each size, and measure them in turn, so that other load meets all of them."""
    with ExitStack() as open_stores, addresses(store, len(sizes)) as found:
        samples: dict[int, GrowthSample] = {}
        for size, address in zip(sizes, found, strict=True):
            begun = time.monotonic()
            opened = open_store(address)
            opened.open_sync()
            opened.migrate_sync()
            open_stores.callback(opened.close_sync)
            fill(opened, size)
            samples[size] = GrowthSample(opened)
            print(f"{store}: {size:,} and {size:,} jobs in {time.monotonic() - begun:.0f} s", file=sys.stderr)
        facts = machine()
        for _ in range(WARM_UP):
            for sample in samples.values():
                sample.measure()
        rounds: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        for _ in range(ROUNDS):
            for size, sample in samples.items():
                rounds[size].append(sample.measure())
    return summarise(rounds, facts)


if __name__ == "__main__":
    main()
