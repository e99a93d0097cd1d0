"""Due jobs that no live worker runs, for `status` and `doctor`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from holdfast.core.worker_record import LiveWorker
from holdfast.engine.operations import Finding, TypeStats


def served_types(workers: Iterable[LiveWorker]) -> frozenset[str]:
    """The types that live workers claim. A draining worker claims nothing."""
    return frozenset(name for worker in workers if not worker.draining for name in worker.types)


def external_types(workers: Collection[LiveWorker]) -> frozenset[str]:
    """The types that live workers declare without a handler, and that no live worker runs."""
    declared = frozenset(name for worker in workers for name in worker.details.get("external", ()))
    return declared - served_types(workers)


def unserved(types: Mapping[str, TypeStats], workers: Collection[LiveWorker]) -> list[Finding]:
    """A warning for each of these types with due jobs that no live worker runs."""
    served = served_types(workers)
    return [
        Finding("warning", name, f"{_due(row.due, name)} and no live worker runs that type")
        for name, row in types.items()
        if row.due and not row.paused and name not in served
    ]


def _due(count: int, name: str) -> str:
    return f"1 job of `{name}` is due" if count == 1 else f"{count:,} jobs of `{name}` are due"
