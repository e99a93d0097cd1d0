"""Write the schedules that a registry declares, and mark those that it declares no longer."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import structs

from holdfast.client.schedule_changes import Decide, ScheduleChange, change, declaration_of
from holdfast.core.clock import Micros
from holdfast.core.schedule import ScheduleDeclaration, ScheduleRecord, changed_record, new_record, read
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.observers import log
from holdfast.engine.operations import FoundSchedules, GetSchedules, GetWorkers
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Jobs


def declare(
    jobs: Jobs, *, worker: str | None = None, owns: Callable[[str], bool] = lambda name: True
) -> Procedure[None]:
    """Write the declared schedules of a registry whose names `owns` accepts.

    A worker also adds itself to its schedules. Schedules of the registry that it does not declare become orphaned,
    unless a live worker declares them. The worker must have reported itself before, so that others know it as live.
    """
    declared = {name: each for name, each in jobs.declared_schedules.items() if owns(name)}
    if not declared and worker is None:
        return
    for name, each in declared.items():
        if each.bound.type.name not in jobs:
            log.warning(
                "schedule %r starts jobs of the type %r, which is not in the registry that declares it: workers with "
                "this registry do not tick it; is a jobs.include(...) missing?",
                name,
                each.bound.type.name,
            )
    found: FoundSchedules = yield GetSchedules(None if worker is not None else tuple(declared))
    records = {stored.name: read(stored.body) for stored in found.schedules}
    decisions = {
        name: declaration
        for name, each in declared.items()
        if _needs_declaration(records.get(name), declaration := declaration_of(each), jobs.name, worker)
    }
    undeclared = [
        name
        for name, record in records.items()
        if name not in declared and record.registry == jobs.name and not record.orphaned
    ]
    if not decisions and not undeclared:
        return
    workers: list[WorkerRecord] = yield GetWorkers()
    live = {each.id for each in workers}
    for name, declaration in decisions.items():
        yield from change(name, _declaring(declaration, jobs.name, worker, live))
    for name in undeclared:
        yield from change(name, _orphaning(jobs.name, live))


def _needs_declaration(
    record: ScheduleRecord | None, declaration: ScheduleDeclaration, registry: str, worker: str | None
) -> bool:
    return (
        record is None
        or record.registry != registry
        or record.orphaned
        or record.declaration.digest != declaration.digest
        or (worker is not None and record.declared_by.get(worker) != declaration.digest)
    )


def _declaring(declaration: ScheduleDeclaration, registry: str, worker: str | None, live: Collection[str]) -> Decide:
    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange:
        if record is None:
            record = new_record(declaration, now, registry=registry)
        elif record.registry != registry:
            owner = "at run time" if record.registry is None else f"by the registry {record.registry!r}"
            raise ValueError(
                f"the registry {registry!r} declares the schedule {record.name!r}, which exists and was created "
                f"{owner}: choose another name, or remove that schedule first"
            )
        else:
            record = changed_record(record, declaration, now)
        if worker is not None:
            known = {id: digest for id, digest in record.declared_by.items() if id in live}
            record = structs.replace(record, declared_by={**known, worker: declaration.digest})
        return ScheduleChange(record)

    return decide


def _orphaning(registry: str, live: Collection[str]) -> Decide:
    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange | None:
        if record is None or record.registry != registry or any(worker in live for worker in record.declared_by):
            return None
        return ScheduleChange(structs.replace(record, orphaned=True, declared_by={}))

    return decide
