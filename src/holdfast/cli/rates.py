"""Counters as documents and tables: what happened to jobs, how many per minute, and how long they took."""

from __future__ import annotations

from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.documents import Document
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import iso, lasting
from holdfast.core.clock import SECOND
from holdfast.core.counter_report import Counters, TypeCounters
from holdfast.core.counters import BOUNDS, KINDS, Counts, Histogram

PERCENTILES = (50, 95, 99)


def counters_document(counters: Counters, *, minutes: bool = False) -> Document:
    """The counters per type, with their rates per minute; with `minutes` also each minute."""
    elapsed = elapsed_minutes(counters)
    return {
        "since": iso(counters.since),
        "until": iso(counters.until),
        "all": counts_document(counters.counts, elapsed),
        "types": [_type_document(each, elapsed, minutes=minutes) for each in counters.types.values()],
    }


def elapsed_minutes(counters: Counters) -> float:
    """The minutes from the beginning of the first one until the reading; at least a second."""
    return max(1.0, (counters.until - counters.since).total_seconds()) / 60


def counts_document(counts: Counts, elapsed: float) -> Document:
    return {
        **{kind: getattr(counts, kind) for kind in KINDS},
        "per_minute": {kind: round(getattr(counts, kind) / elapsed, 2) for kind in KINDS},
        "wait": _histogram_document(counts.waits),
        "run": _histogram_document(counts.runs),
    }


def counts_table(document: Document) -> Sheet:
    """The types of a document, one per line."""
    times = ("wait p50", "wait p95", "run p50", "run p95")
    made = Sheet("type", *KINDS, "per minute", *times, numbers=(*KINDS, "per minute", *times))
    for row in document["types"]:
        made.add_row(tables.text(row["type"]), *_cells(row))
    if len(document["types"]) > 1:
        made.add_section()
        made.add_row("all", *_cells(document["all"]))
    return made


def number(count: float, style: str = "") -> Text:
    """A number; a dot for none."""
    shown = f"{count:,}" if isinstance(count, int) or count >= 100 else f"{count:,.1f}"
    return tables.text(shown if count else "·", style if count else "bright_black")


def seconds(value: float | None) -> str:
    return "" if value is None else lasting(value)


def _cells(row: Document) -> list[Text | str]:
    return [
        *(number(row[kind], tables.STYLES.get(kind, "")) for kind in KINDS),
        number(row["per_minute"]["completed"]),
        *(seconds(row[times][each]) for times in ("wait", "run") for each in ("p50", "p95")),
    ]


def _type_document(row: TypeCounters, elapsed: float, *, minutes: bool) -> Document:
    document: Document = {
        "type": row.type,
        **counts_document(row.counts, elapsed),
        "total": {kind: getattr(row.total, kind) for kind in KINDS},
    }
    if minutes:
        document["minutes"] = [
            {"at": iso(each.at), **{kind: getattr(each.counts, kind) for kind in KINDS}} for each in row.minutes
        ]
    return document


def _histogram_document(histogram: Histogram) -> Document:
    """Durations in seconds. The last bucket has no bound."""
    bounds: list[float | None] = [*(bound / SECOND for bound in BOUNDS), None]
    return {
        "count": histogram.count,
        "mean": histogram.mean,
        **{f"p{percent}": histogram.percentile(percent) for percent in PERCENTILES},
        "buckets": [
            {"up_to": bound, "count": count} for bound, count in zip(bounds, histogram.counts, strict=True) if count
        ],
    }
