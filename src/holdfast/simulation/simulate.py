"""Start a load on a store, and wait for the end of every job. The workers are started elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from holdfast.client.client import Client
from holdfast.core.record import Record
from holdfast.engine.operations import GetChains
from holdfast.engine.wake_flag import WakeFlag
from holdfast.simulation.load import load
from holdfast.simulation.report import SimulationReport, report
from holdfast.simulation.work_kinds import WorkKind

BATCH = 500
LOOK_EVERY = 0.5
PAUSE_FACTOR = 4
"""The pause between two reads, as a multiple of the duration of a read."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a simulation."""

    jobs: int
    started: int
    ended: int
    seconds: float


async def simulate(
    client: Client,
    kinds: Sequence[WorkKind],
    *,
    jobs: int,
    seed: int = 0,
    timeout: float | None = None,
    emit: Callable[[Progress], None] = lambda progress: None,
) -> SimulationReport:
    """Start `jobs` jobs and wait until all have ended or the timeout has passed. Returns the report.

    The client's registry must have the kinds' types: `simulated(kinds)` makes one.
    """
    begun = monotonic()
    work = load(kinds, jobs, seed=seed)
    types = {kind.name: client.jobs[kind.type] for kind in kinds}
    ids: list[str] = []
    bounds = [types[kind.name].bind(number=number, seed=seed) for number, kind in enumerate(work)]
    for begin in range(0, jobs, BATCH):
        ids += [chain.id for chain in await client.start_many(bounds[begin : begin + BATCH])]
        emit(Progress(jobs, len(ids), 0, monotonic() - begun))

    def emit_ended(ended: int) -> None:
        emit(Progress(jobs, jobs, ended, monotonic() - begun))

    ended = await _follow(client, ids, timeout=timeout, emit=emit_ended)
    seconds = monotonic() - begun
    missing = [id for id in ids if id not in ended]
    found: dict[str, Record | None] = {**ended, **await _look(client, missing)}
    return report(work, [found[id] for id in ids], seed=seed, seconds=seconds)


async def _follow(
    client: Client, ids: Sequence[str], *, timeout: float | None, emit: Callable[[int], None]
) -> dict[str, Record | None]:
    """The jobs that have ended when all have, or when the timeout has passed."""
    deadline = None if timeout is None else monotonic() + timeout
    wake_flag = WakeFlag()
    unsubscribe = client.store.wakeups.subscribe(lambda hints: wake_flag.set() if hints.finished else None)
    ended: dict[str, Record | None] = {}
    waiting = list(ids)
    try:
        while True:
            looked = monotonic()
            found = await _look(client, waiting)
            took = monotonic() - looked
            ended |= {id: record for id, record in found.items() if record is None or record.finished_at is not None}
            waiting = [id for id in waiting if id not in ended]
            emit(len(ended))
            if not waiting or (deadline is not None and monotonic() >= deadline):
                return ended
            # Reading thousands of jobs costs as much as running some, so the pauses are longer than the reads.
            await asyncio.sleep(min(took * PAUSE_FACTOR, LOOK_EVERY))
            await wake_flag.wait(LOOK_EVERY)
    finally:
        unsubscribe()


async def _look(client: Client, ids: Sequence[str]) -> dict[str, Record | None]:
    found: dict[str, Record | None] = {}
    for begin in range(0, len(ids), BATCH):
        batch = ids[begin : begin + BATCH]
        chains = await client.store.perform(GetChains(tuple(batch)))
        found |= {id: None if chain is None else chain.last for id, chain in zip(batch, chains, strict=True)}
    return found
