"""results.svg: drains and times as bars, for light and dark pages."""

from __future__ import annotations

from html import escape

from benchmarks.bars import limit
from benchmarks.contenders import contender
from benchmarks.metrics import METRICS
from benchmarks.results import Results

PANELS = (
    ("PostgreSQL: jobs drained per second, best settings", "postgres", "drain, best settings"),
    ("PostgreSQL: jobs drained per second, concurrency 10", "postgres", "drain, concurrency 10"),
    ("Redis: jobs drained per second, best settings", "redis", "drain, best settings"),
    ("SQLite: jobs drained per second, best settings", "sqlite", "drain, best settings"),
    ("PostgreSQL: start and wait for the answer, median", "postgres", "round trip p50"),
    ("Redis: from the start to the handler's first line, median", "redis", "pick-up p50"),  # a peer leads
)
MOST = 5
WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 760, 130, 90, 18, 6, 34
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .head { font-weight: 600 } .faint { fill: #656d76 }
.ours { fill: #0a7d5a } .peer { fill: #b6bec7 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #9198a1 } .ours { fill: #2fbf8f } .peer { fill: #4b535d }
}
"""


def chart(results: Results) -> str:
    """An SVG of the panels that have figures."""
    parts: list[str] = []
    top = 4
    for title, store, metric in PANELS:
        bars = _bars(results, store, metric)
        if len(bars) > 0:
            drawn, top = _panel(results, title, (store, metric), bars, top)
            parts += drawn
    height = top + 4
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>Holdfast beside its peers</title>'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def _bars(results: Results, store: str, metric: str) -> list[tuple[str, float]]:
    """Holdfast and the best few peers, best first."""
    names = dict.fromkeys(entry.contender for entry in results.entries.values() if entry.store == store)
    found = [
        (name, figure.value)
        for name in names
        if (name == "Holdfast" or contender(name).requirements)
        and (figure := results.figure(store, metric, name)) is not None
    ]
    found.sort(key=lambda each: each[1], reverse=METRICS[metric].higher)
    ours = [each for each in found if each[0] == "Holdfast"]
    kept = found[:MOST]
    return kept if not ours or ours[0] in kept else [*kept[:-1], *ours]


def _panel(
    results: Results, title: str, what: tuple[str, str], bars: list[tuple[str, float]], top: int
) -> tuple[list[str], int]:
    store, metric = what
    show = METRICS[metric].show
    longest = max(value for _, value in bars)
    parts = [f'<text class="head" x="0" y="{top + 20}">{escape(title)}</text>']
    if (beside := limit(results, store, metric)) is not None:
        shown = f"limit, a script without a library: {show(beside[1])}"
        parts.append(f'<text class="faint" x="{WIDTH}" y="{top + 20}" text-anchor="end">{escape(shown)}</text>')
    y = top + HEAD
    for name, value in bars:
        length = max(1.0, (WIDTH - LEFT - RIGHT) * value / longest)
        middle = y + BAR - 5
        kind = "ours" if name == "Holdfast" else "peer"
        weight = ' class="head"' if kind == "ours" else ""
        parts += [
            f'<text{weight} x="{LEFT - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>',
            f'<text{weight} x="{LEFT + length + 6:.1f}" y="{middle}">{escape(show(value))}</text>',
        ]
        y += BAR + GAP
    return parts, y + 10
