"""Which due jobs wait for a worker, and which of them no live worker runs, for `status`, `top`, `doctor` and others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from holdfast.core.clock import to_datetime
from holdfast.core.worker_record import LiveWorker
from holdfast.engine.operations import Finding, TypeStats
from holdfast.stores.late_jobs import oldest


def served_types(workers: Iterable[LiveWorker]) -> frozenset[str]:
    """The types that live workers claim. A draining worker claims nothing."""
    return frozenset(name for worker in workers if not worker.draining for name in worker.types)


def external_types(workers: Collection[LiveWorker], declared: Collection[str] = ()) -> frozenset[str]:
    """The types without a handler, in `declared` or as live workers declare them, that no live worker runs.

    Their jobs wait for a completion from outside, so no worker claims them. `client.explain` uses the same condition.
    """
    without_handler = {*declared, *(name for worker in workers for name in worker.details.get("external", ()))}
    return frozenset(without_handler.difference(*(worker.types for worker in workers)))


def for_workers(types: Mapping[str, TypeStats], external: Collection[str]) -> dict[str, TypeStats]:
    """The types whose due jobs a worker may claim: neither external nor paused."""
    return {name: row for name, row in types.items() if name not in external and not row.paused}


def unserved(types: Mapping[str, TypeStats], workers: Collection[LiveWorker]) -> list[Finding]:
    """A warning for each of these types with due jobs that no live worker runs."""
    served = served_types(workers)
    return [
        Finding("warning", name, f"{_due(row.due, name)} and no live worker runs that type")
        for name, row in types.items()
        if row.due and not row.paused and name not in served
    ]


def without_external(
    found: Sequence[Finding], types: Mapping[str, TypeStats], external: Collection[str], now: datetime
) -> list[Finding]:
    """The findings of a store, without external types, which a store does not know.

    The finding about the oldest due job then names the oldest job that waits for a worker.
    """
    if not any(types[name].due for name in external if name in types):
        return list(found)
    due = [(row.oldest_due, name) for name, row in for_workers(types, external).items() if row.oldest_due is not None]
    since, first = min(due, default=(None, None))
    waited = None if since is None else max(0, (now - to_datetime(since)) // timedelta(microseconds=1))
    instead = oldest(first, waited)
    return [instead if finding.subject == instead.subject else finding for finding in found]


def _due(count: int, name: str) -> str:
    return f"1 job of `{name}` is due" if count == 1 else f"{count:,} jobs of `{name}` are due"
