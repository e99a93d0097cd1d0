"""The ceiling of each store, calculated from the measured costs: `python -m benchmarks.fleet.ceilings`."""

from __future__ import annotations

from benchmarks.fleet.costs import StoreCosts, load

BATCHES = (1, 10, 100)
"""Jobs in a claim and in a settlement."""
CORES = 8
"""Cores of the server, for a store that uses several."""
DAY = 86_400


def ceilings(costs: dict[str, StoreCosts]) -> list[str]:
    """Rows of a Markdown table: jobs per second of one core, and of the whole server, by the size of batches."""
    rows: list[str] = []
    for name, each in costs.items():
        cores = 1 if each.single else CORES
        for batch in BATCHES:
            seconds = each.per_job(batch)
            rate, cost = cores / seconds, f"{seconds * 1e6:.0f} µs"
            day = f"{_round(rate * DAY / 1e6):,} million"
            rows.append(f"| {name} | {cores} | {batch} | {cost} | {_round(rate):,} | {day} |")
    return rows


def _round(number: float) -> int:
    """Two significant digits: the costs are not known more exactly."""
    scale = int("1".ljust(max(len(str(int(number))) - 1, 1), "0"))
    return round(number / scale) * scale


if __name__ == "__main__":
    print("\n".join(ceilings(load())))
