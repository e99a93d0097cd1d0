"""The bars: what Holdfast has to reach beside its peers, the limit and the work by hand, measured in the same run."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.contenders import contender
from benchmarks.metrics import METRICS
from benchmarks.results import Results


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure of Holdfast, and the multiple of another contender's figure that it must reach."""

    store: str
    metric: str
    times: float
    of: str
    """A contender's name, `best peer`, or `limit`."""
    ours: str = "Holdfast"
    beside: str = ""
    """The other's metric, if it is another one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a bar is reached; unknown without its figures."""

    bar: Bar
    value: float | None
    other: tuple[str, float] | None

    @property
    def needed(self) -> float | None:
        return None if self.other is None else self.bar.times * self.other[1]

    @property
    def reached(self) -> bool | None:
        if self.value is None or self.needed is None:
            return None
        return self.value >= self.needed if METRICS[self.bar.metric].higher else self.value <= self.needed


BY_HAND = {"postgres": "by hand: psycopg", "redis": "by hand: redis.asyncio", "sqlite": "by hand: aiosqlite"}
"""The worker written by hand on each store."""
COMPLETIONS = ("transactional handlers", "chains of three, jobs", "fan-in of 100, jobs", "fan-in of 10,000, jobs")
BARS = (
    Bar("postgres", "drain, concurrency 10", 3, "best peer"),
    *(
        Bar(store, "drain, concurrency 10", 0.6, "Holdfast", beside="drain, best settings")
        for store in ("postgres", "redis", "sqlite")
    ),
    Bar("postgres", "drain, best settings", 2, "best peer"),
    Bar("postgres", "drain, best settings", 0.6, "limit"),
    Bar("postgres", "one start at a time", 0.75, "limit"),
    Bar("postgres", "one start at a time", 1.2, "PgQueuer"),
    Bar("postgres", "one start at a time", 1.2, "PgQueuer", ours="Holdfast, SyncClient"),
    Bar("postgres", "bulk start", 1, "best peer"),
    Bar("postgres", "bulk start", 1, "best peer", ours="Holdfast, SyncClient"),
    Bar("postgres", "bulk start", 0.5, "limit"),
    Bar("postgres", "pick-up p50", 1.6, "limit"),
    *(
        Bar(store, metric, 1, "best peer")
        for store in ("postgres", "redis", "sqlite")
        for metric in ("pick-up p50", "round trip p50")
    ),
    Bar("postgres", "round trip p50", 1 / 3, "best peer"),
    Bar("redis", "drain, best settings", 4, "best peer"),
    Bar("redis", "one start at a time", 0.75, "limit"),
    Bar("redis", "one start at a time", 1, "Huey", ours="Holdfast, SyncClient"),
    Bar("redis", "bulk start", 1.2, "best peer"),
    Bar("redis", "pick-up p50", 2.2, "limit"),
    Bar("redis", "round trip p50", 0.6, "Celery"),
    Bar("sqlite", "drain, best settings", 5, "best peer"),
    Bar("sqlite", "one start at a time", 0.7, "limit"),
    Bar("sqlite", "one start at a time", 0.7, "limit", ours="Holdfast, SyncClient"),
    Bar("sqlite", "one start at a time", 0.8, "Holdfast, SyncClient"),
    Bar("sqlite", "one start at a time", 1, "Huey", ours="Holdfast, SyncClient"),
    Bar("sqlite", "one start at a time", 1, "FlexiQ", ours="Holdfast, synchronous=normal"),
    Bar("sqlite", "one start at a time", 1, "FlexiQ async", ours="Holdfast, synchronous=normal"),
    Bar("sqlite", "one start at a time", 1, "FlexiQ", ours="Holdfast, SyncClient, synchronous=normal"),
    Bar("sqlite", "bulk start", 1.2, "best peer"),
    Bar("sqlite", "pick-up p50", 0.5, "best peer"),
    Bar("sqlite", "round trip p50", 0.5, "best peer"),
    Bar("memory", "drain, best settings", 0.2, "limit"),
    *(
        Bar(store, f"steps, {setting}", 1 / 3, "Holdfast", beside=f"plain jobs beside steps, {setting}")
        for store in ("postgres", "sqlite")
        for setting in ("concurrency 10", "best settings")
    ),
    Bar("postgres", "sequential step p50", 1.5, "Holdfast", beside="bare commit beside steps p50"),
    Bar("sqlite", "sequential step p50", 1.5, "Holdfast", beside="bare commit beside steps p50"),
    *(
        Bar(store, metric, 0.5, worker)
        for store, worker in BY_HAND.items()
        for metric in COMPLETIONS
        if store != "redis" or metric != "transactional handlers"  # Redis has no transactions of the application
    ),
    *(
        Bar(store, "start in a transaction", 0.5, f"limit: {driver}, tx", ours=ours)
        for store, driver, ours in (
            ("postgres", "asyncpg", "Holdfast, tx="),
            ("postgres", "psycopg", "Holdfast, SyncClient, tx="),
            ("sqlite", "aiosqlite", "Holdfast, tx="),
            ("sqlite", "sqlite3", "Holdfast, SyncClient, tx="),
        )
    ),
)


def verdicts(results: Results) -> list[Verdict]:
    """Every bar, with the figures of these results."""
    found: list[Verdict] = []
    for bar in BARS:
        figure = results.figure(bar.store, bar.metric, bar.ours)
        found.append(Verdict(bar, None if figure is None else figure.value, _other(bar, results)))
    return found


def best_peer(results: Results, store: str, metric: str) -> tuple[str, float] | None:
    """The best peer and its figure."""
    names = {entry.contender for entry in results.entries.values() if entry.store == store}
    figures = {
        name: figure.value
        for name in sorted(names)
        if contender(name).requirements and (figure := results.figure(store, metric, name)) is not None
    }
    if not figures:
        return None
    best = (max if METRICS[metric].higher else min)(figures, key=lambda name: figures[name])
    return best, figures[best]


def limit(results: Results, store: str, metric: str) -> tuple[str, float] | None:
    """The figure of the script without a library."""
    for entry in results.entries.values():
        if entry.store == store and entry.contender.startswith("limit") and "normal" not in entry.contender:
            figure = results.figure(store, metric, entry.contender)
            if figure is not None:
                return entry.contender, figure.value
    return None


def _other(bar: Bar, results: Results) -> tuple[str, float] | None:
    if bar.of == "best peer":
        return best_peer(results, bar.store, bar.metric)
    if bar.of == "limit":
        return limit(results, bar.store, bar.metric)
    figure = results.figure(bar.store, bar.beside or bar.metric, bar.of)
    return None if figure is None else (bar.beside or bar.of, figure.value)
