"""RESULTS.md: the bars, a table per store and figure, what each contender promises, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.bars import Verdict, verdicts
from benchmarks.contenders import contender
from benchmarks.metrics import METRICS
from benchmarks.results import Entry, Results

TITLES = {
    "postgres": "PostgreSQL", "redis": "Redis", "sqlite": "SQLite", "memory": "Memory", "library": "Any store",
}  # fmt: skip
HEAD = """# How fast it is

Measured by `make bench`: Holdfast, its peers, the limit, and for chains and completions the same work written by hand.
All contenders of a scenario ran in turns, each in processes of its own, on fresh storage each time, in alternating
order. Each store has a table with the time and the commit of every scenario.
The limit is a script that does no more than the store needs: one job after the other in one thread, which waits for
every commit. The work by hand is a worker with concurrent handlers on an event loop, as a developer writes it without
a library. A figure is the median of the rounds; ± is half of the way from the least to the most. Every handler adds one
to a number. A drain counts until the last job is settled in the store; its clock begins with the first handler. Pick-up
is from just before the start to the handler's first line, in a worker that was idle, in another process. All servers
run on this one machine, beside the workers, with the same settings for all contenders.
"""


def report(results: Results) -> str:
    """The whole page."""
    parts = [HEAD, _machine(results), "## The bars\n", _bars(verdicts(results))]
    for store, title in TITLES.items():
        if section := _store(results, store):
            parts += [f"## {title}\n", section]
    if troubles := _troubles(results):
        parts += ["## Not measured\n", troubles]
    return "\n".join(parts)


def _machine(results: Results) -> str:
    facts = {**results.machine, **results.facts}
    versions: dict[str, str] = {}
    for found in results.versions.values():
        versions |= found
    # Parts are measured at different times: see the table of each store.
    lines = [f"- {name}: {value}" for name, value in facts.items() if name not in ("measured", "load before")]
    lines.append(f"- versions: {', '.join(f'{name} {version}' for name, version in sorted(versions.items()))}")
    if any(entry.scale != 1 for entry in results.entries.values()):
        lines.append("- **some figures come from a quick run with fewer jobs**")
    return "\n".join(lines) + "\n"


def _bars(found: Sequence[Verdict]) -> str:
    rows: list[list[str]] = []
    for verdict in found:
        bar, metric = verdict.bar, METRICS[verdict.bar.metric]
        ours = "-" if verdict.value is None else metric.show(verdict.value)
        other = "-" if verdict.other is None else f"{verdict.other[0]} {metric.show(verdict.other[1])}"
        needed = "-" if verdict.needed is None else metric.show(verdict.needed)
        if bar.ours != "Holdfast":
            ours = f"{bar.ours}: {ours}"
        asked = f"{bar.times:.2g} x {bar.beside or bar.of}"
        reached = {True: "reached", False: "**not reached**", None: "not measured"}[verdict.reached]
        rows.append([TITLES[bar.store], bar.metric, ours, other, f"{asked}: {needed}", reached])
    return _table(["store", "figure", "Holdfast", "beside", "must reach", ""], rows)


def _store(results: Results, store: str) -> str:
    names = _names(results, store)
    parts: list[str] = []
    for metric in METRICS:
        rows = _rows(results, store, metric, names)
        if rows:
            parts += [f"### {metric}\n", _table(["", "", "±", "Holdfast is"], rows)]
    if parts:
        parts += [
            "### When it was measured\n",
            _table(["scenario", "UTC", "commit", "load before"], _times(results, store)),
        ]
    about = [_promise(name, store) for name in names if store in contender(name).about]
    if parts and about:
        parts += ["### What is promised, and what is kept\n", _table(["", "guarantee", "kept", "best settings"], about)]
    return "\n".join(parts)


def _rows(results: Results, store: str, metric: str, names: Sequence[str]) -> list[list[str]]:
    """The best first, each with the ratio to Holdfast."""
    higher = METRICS[metric].higher
    figures = {name: figure for name in names if (figure := results.figure(store, metric, name)) is not None}
    ours = figures.get("Holdfast")
    rows: list[list[str]] = []
    for name in sorted(figures, key=lambda name: figures[name].value, reverse=higher):
        value = figures[name].value
        ratio = ""
        if ours is not None and not name.startswith("Holdfast") and value and ours.value:
            times = ours.value / value if higher else value / ours.value
            ratio = f"{times:.2f} x as good" if times < 10 else f"{times:.0f} x as good"
        shown = f"**{name}**" if name.startswith("Holdfast") else name
        rows.append([shown, METRICS[metric].show(value), f"{figures[name].noise:.0%}", ratio])
    return rows


def _times(results: Results, store: str) -> list[list[str]]:
    """When each scenario was measured, the commit, and the load before its first contender."""
    scenarios: dict[str, list[Entry]] = {}
    for entry in results.entries.values():
        if entry.store == store and entry.rounds:
            scenarios.setdefault(entry.scenario, []).append(entry)
    rows: list[list[str]] = []
    for scenario, entries in scenarios.items():
        first, last = min(entry.at for entry in entries), max(entry.at for entry in entries)
        commits = dict.fromkeys(entry.commit or "not recorded" for entry in entries)
        loads = [f"{entry.load:.2f}" if entry.commit else "" for entry in entries]
        rows.append([scenario, first if first == last else f"{first} to {last}", ", ".join(commits), loads[0]])
    return rows


def _promise(name: str, store: str) -> list[str]:
    about = contender(name).about[store]
    return [name, about.guarantee, about.retention, about.best]


def _troubles(results: Results) -> str:
    rows = [[TITLES[each.store], each.scenario, each.contender, each.trouble or ""] for each in results.troubles()]
    return _table(["store", "scenario", "", "reason"], rows) if rows else ""


def _names(results: Results, store: str) -> list[str]:
    return list(dict.fromkeys(entry.contender for entry in results.entries.values() if entry.store == store))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([each.replace("|", "\\|").replace("\n", " ") for each in line] for line in lines)
    return "\n".join(f"| {' | '.join(each)} |" for each in cells) + "\n"
