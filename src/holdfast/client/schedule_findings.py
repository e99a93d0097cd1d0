"""What `doctor` finds about schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from holdfast.core.schedule import Schedule
from holdfast.core.worker_record import LiveWorker
from holdfast.engine.operations import Finding


def schedule_findings(schedules: Sequence[Schedule], workers: Iterable[LiveWorker]) -> list[Finding]:
    """Orphaned schedules, schedules that no live worker ticks, and workers that declare different schedules."""
    workers = tuple(workers)
    found = [
        Finding(
            "warning",
            f"schedule {schedule.name}",
            "orphaned: no live worker declares it, and it is not ticked. Declare it again, or remove it: "
            f"holdfast unschedule {schedule.name}",
        )
        for schedule in schedules
        if schedule.orphaned
    ]
    served = {type for worker in workers for type in (*worker.types, *worker.details.get("external", ()))}
    if workers:
        found += [
            Finding(
                "warning",
                f"schedule {schedule.name}",
                f"no live worker ticks it, because none has the type {schedule.type}: start one whose registry "
                "contains this type. Is a jobs.include(...) missing?",
            )
            for schedule in schedules
            if not schedule.orphaned and not schedule.paused and schedule.type not in served
        ]
    declared: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for worker in workers:
        declared[worker.registry][worker.id] = worker.details.get("schedules", {})
    return found + [
        Finding("warning", f"registry {registry}", _difference(by_worker))
        for registry, by_worker in declared.items()
        if len({tuple(sorted(names.items())) for names in by_worker.values()}) > 1
    ]


def _difference(by_worker: dict[str, dict[str, str]]) -> str:
    names = sorted({name for declared in by_worker.values() for name in declared})
    differing = [name for name in names if len({declared.get(name) for declared in by_worker.values()}) > 1]
    return (
        f"live workers declare different schedules ({', '.join(differing)}): the worker that started last decides. "
        "Finish the deployment, or give the applications registries of different names"
    )
