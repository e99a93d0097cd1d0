"""The table of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.compare.pair import MEASUREMENTS, Turn

KINDS: dict[str, Callable[[Turn], float]] = {
    "elapsed": lambda turn: turn.elapsed,
    "CPU of the process": lambda turn: turn.process,
    "CPU of the server": lambda turn: turn.server,
    "CPU of both": lambda turn: turn.process + turn.server,
}


def table(store: str, turns: Sequence[tuple[Turn, Turn]]) -> str:
    """Microseconds per job: the least and the median of both commits, and the median ratio of neighbouring turns."""
    lines = [f"{store:8} {'':18} {'least':>16} {'':>6} {'median':>16} {'ratios of neighbours':>28}"]
    for measurement in MEASUREMENTS:
        chosen = [pair for pair in turns if pair[0].measurement == measurement]
        for name, of in KINDS.items():
            if chosen[0][0].server or ("of the server" not in name and "of both" not in name):
                pairs = [(of(older), of(later)) for older, later in chosen]
                lines.append(f"{measurement:8} {name:18} {_figures(pairs)}")
    return "\n".join(lines)


def _figures(pairs: Sequence[tuple[float, float]]) -> str:
    olders, laters = zip(*pairs, strict=True)
    ratios = sorted(later / older - 1 for older, later in pairs)
    quarter = len(ratios) // 4
    least, middle = (min(olders), min(laters)), (median(olders), median(laters))
    return (
        f"{least[0]:7.1f} {least[1]:7.1f} {least[1] / least[0] - 1:+7.1%} {middle[0]:7.1f} {middle[1]:7.1f} "
        f"{median(ratios):+7.1%}, half of them {ratios[quarter]:+.1%} to {ratios[-1 - quarter]:+.1%}"
    )
