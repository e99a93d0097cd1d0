"""growth.svg: how many times longer an operation takes with more jobs, on logarithmic axes, for light and dark."""

from __future__ import annotations

from math import log10

from benchmarks.chart import STYLE
from benchmarks.growth.results import StoreGrowth

WIDTH, PANEL, LEFT, TOP, RIGHT, BOTTOM = 760, 230, 60, 34, 170, 34
FLAT = 1.2
"""The band of the chart that counts as flat."""
COLOURS = ("#0a7d5a", "#3b6fd4", "#b5690b", "#a03aa6", "#c2343f", "#5b7a12", "#0f7f93", "#7a5c43")
LINES = """
.grid { stroke: #d0d7de; stroke-width: 1 } .flat { fill: #0a7d5a; opacity: .10 }
polyline { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { .grid { stroke: #30363d } .flat { fill: #2fbf8f; opacity: .16 } }
"""


def chart(growth: dict[str, StoreGrowth]) -> str:
    """A panel for each store, a line for each operation."""
    height = PANEL * len(growth) + 4
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>Growth of the costs</title>'
    parts = [line for number, each in enumerate(growth.items()) for line in _panel(*each, top=number * PANEL)]
    return "\n".join([head, f"<style>{STYLE}{LINES}</style>", *parts, "</svg>"]) + "\n"


def _panel(store: str, figures: StoreGrowth, *, top: int) -> list[str]:
    sizes = sorted(next(iter(figures.milliseconds.values())))
    ratios = {name: [figures.ratio(name, size) for size in sizes] for name in figures.milliseconds}
    least = min(0.5, *(ratio for each in ratios.values() for ratio in each))
    most = max(2.0, *(ratio for each in ratios.values() for ratio in each)) * 1.2
    inner = PANEL - TOP - BOTTOM

    def x(size: int) -> float:
        span = log10(sizes[-1]) - log10(sizes[0]) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * (log10(size) - log10(sizes[0])) / span

    def y(ratio: float) -> float:
        return top + TOP + inner * log10(most / ratio) / log10(most / least)

    title = f"{store}: duration, as a multiple of that with {sizes[0]:,} jobs"
    width, flat = WIDTH - LEFT - RIGHT, y(1 / FLAT) - y(FLAT)
    parts = [
        f'<text class="head" x="4" y="{top + 18}">{title}</text>',
        f'<rect class="flat" x="{LEFT}" y="{y(FLAT):.1f}" width="{width}" height="{flat:.1f}"/>',
    ]
    for step in (each for each in (1, 2, 10, 100, 1000, 10_000) if each <= most and not (each == 2 and most > 20)):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(step):.1f}" y2="{y(step):.1f}"/>')
        parts.append(f'<text class="faint" text-anchor="end" x="{LEFT - 8}" y="{y(step) + 4:.1f}">{step:,}</text>')
    parts += [
        f'<text class="faint" text-anchor="middle" x="{x(size):.1f}" y="{top + PANEL - 12}">{size:,}</text>'
        for size in sizes
    ]
    labels = sorted(ratios, key=lambda name: -ratios[name][-1])
    for number, name in enumerate(labels):
        colour = COLOURS[list(ratios).index(name) % len(COLOURS)]
        points = " ".join(f"{x(size):.1f},{y(ratio):.1f}" for size, ratio in zip(sizes, ratios[name], strict=True))
        parts.append(f'<polyline stroke="{colour}" points="{points}"/>')
        at = top + TOP + 8 + number * 19
        parts.append(f'<rect x="{WIDTH - RIGHT + 14}" y="{at - 8}" width="12" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 32}" y="{at}">{name} {ratios[name][-1]:.2f}</text>')
    return parts
