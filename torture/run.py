"""One run: load with faults, then recovery without faults, then the evidence."""

from __future__ import annotations

import json
import platform
import random
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGTERM

import msgspec

from holdfast import ScheduleNotFound, StoreUnavailable, SyncClient
from holdfast.core.counters import Counts
from holdfast.core.record import Record
from holdfast.core.steps import StepRow
from holdfast.engine.operations import Filter, GetSteps, ListJobs
from holdfast.engine.store import Store
from torture import evidence as evidences
from torture import file_replacement
from torture.audit import Row
from torture.evidence import Evidence, Facts
from torture.fleet import Fleet
from torture.flow_jobs import BEAT
from torture.harnesses import HARNESSES, Harness
from torture.history import History, real_now
from torture.jobs import jobs, work
from torture.live_workers import listed
from torture.mutant_loader import changed_migrations
from torture.mutants import MUTANTS
from torture.nemesis import Nemesis
from torture.plans import brisk
from torture.processes import ROOT, Process, Processes
from torture.producers import Producers
from torture.profiles import Profile
from torture.rendering import render
from torture.settings import Failpoints, Settings
from torture.step_jobs import TYPES as STEPPED

MAINTAIN_EVERY = 0.03
NEIGHBOURS = 20
WORST_CLOCK = 3600.0
TIMEOUT = 120.0
"""Seconds for all processes to be ready."""


def torture(
    store: str,
    profile: Profile,
    folder: Path,
    *,
    seed: int,
    name: str = "",
    mutant: str | None = None,
    durability: str = "",
    faults: tuple[str, ...] = (),
) -> Evidence:
    """Run a profile on a store and write the evidence to the folder. The same seed gives the same plan.

    `durability` is a weaker mode of the store, whose losses are counted; `faults` are the kinds to choose from.
    """
    rng = random.Random(seed)
    with ExitStack() as stack:
        with changed_migrations(mutant, store):
            harness = stack.enter_context(HARNESSES[store](folder, durability))
        facts = Facts(
            store=store, seed=seed, profile=name, mutant=mutant, lease=profile.lease, reap=profile.reap,
            poll=profile.poll, transactional=harness.transactional, own_clock=harness.own_clock, timely=profile.timely,
            durability=harness.durability, supervised=profile.supervised, concurrency=profile.concurrency,
            interrupted=profile.interrupted,
            versions={"python": platform.python_version(), **harness.versions, **_commit()},
        )  # fmt: skip
        history = History(folder, "nemesis")
        try:
            _run(harness, profile, facts, folder=folder, history=history, rng=rng, faults=faults)
        finally:
            history.close()
    return evidences.load(folder)


def _run(
    harness: Harness,
    profile: Profile,
    facts: Facts,
    *,
    folder: Path,
    history: History,
    rng: random.Random,
    faults: tuple[str, ...],
) -> None:
    mutant = MUTANTS[facts.mutant] if facts.mutant else None
    settings = Settings(
        name="", folder=str(folder), url=harness.url + (mutant.address if mutant else ""), seed=facts.seed,
        mutant=facts.mutant, transactional=harness.transactional, skew=WORST_CLOCK if harness.own_clock else 0.0,
        failpoints=Failpoints(profile.kill, profile.stop, often=mutant.often if mutant else {}),
        sweep=profile.sweep and mutant is None, lease=profile.lease, reap=profile.reap, poll=profile.poll,
        concurrency=profile.concurrency, rate=(mutant and mutant.rate) or profile.rate,
        drop=float(mutant is not None and mutant.without_wakeups), seconds=profile.seconds, largest=profile.largest,
        widest=profile.widest, supervised=profile.supervised,
    )  # fmt: skip
    neighbours = _start_neighbours(harness)
    processes = Processes(settings)
    try:
        producers = Producers(
            processes, settings, profile.producers, history=history, rng=rng, interrupted=profile.interrupted
        )
        if not harness.transactional:
            producers.sweep.leave_out("join")
        fleet = Fleet(processes, settings, profile.workers, history=history, rng=rng, holder=harness.holder)
        supervisor = _supervisor(processes, settings) if profile.supervised else None
        deadline = time.monotonic() + TIMEOUT
        while not (fleet.ready and producers.ready and (supervisor is None or supervisor.ready)):
            if time.monotonic() > deadline or (supervisor is not None and not supervisor.alive):
                raise RuntimeError(f"the processes do not start: see the logs in {folder}")
            fleet.maintain()
            producers.maintain()
            time.sleep(MAINTAIN_EVERY)
        facts.begun = real_now()
        producers.begin()
        nemesis = Nemesis(
            harness, fleet, history=history, rng=rng, pause=profile.pause, calm=profile.calm,
            only=faults or (mutant.faults if mutant else ()),
            supervised=folder / "supervised.pids" if supervisor is not None else None,
        )  # fmt: skip
        until = time.monotonic() + profile.seconds
        while time.monotonic() < until:
            fleet.maintain()
            producers.maintain()
            nemesis.act()
            time.sleep(MAINTAIN_EVERY)
        nemesis.heal()
        fleet.renew()
        facts.quiet = _come_to_rest(harness, fleet, producers, profile.settle)
        producers.note_ends()
        facts.ended = real_now()
        facts.swept = {"worker": fleet.sweep.left, "producer": producers.sweep.left}
        facts.unharmed = nemesis.unharmed
        facts.leaks |= harness.at_rest(lambda: [*fleet.pids, *_supervised(supervisor, folder)])
        facts.live.existing = fleet.names
        facts.live.listed = listed(harness.direct)
        fleet.close()
        if supervisor is not None:
            _stop_supervisor(supervisor, history)
        facts.live.after_end = listed(harness.direct)
        facts.live.after_gone = listed(harness.direct, gone=True)
        selected = faults or (mutant.faults or ("none",) if mutant else (file_replacement.KIND,))
        if harness.replaceable and file_replacement.KIND in selected:
            file_replacement.replace_file(processes, settings, folder, history)
    finally:
        processes.close()
    facts.leaks |= harness.leaks()
    _collect(harness, facts, neighbours)
    evidences.save(folder, facts, harness.audit())
    if not facts.durability and facts.mutant is None:
        render(harness.direct, [row.id for row in facts.rows if row.type == "hostile"], history)


def _commit() -> dict[str, str]:
    """The commit of the checkout, and whether files differ from it; empty outside of a checkout."""
    asked: list[str] = []
    for command in ("rev-parse --short=12 HEAD", "status --porcelain --untracked-files=no -- src torture"):
        try:
            reported = subprocess.run(["git", *command.split()], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
        except (OSError, subprocess.CalledProcessError):
            return {}
        asked.append(reported.stdout.strip())
    return {"commit": asked[0] + (" with changes" if asked[1] else "")}


def _supervisor(processes: Processes, settings: Settings) -> Process:
    own = msgspec.structs.replace(settings, name="supervisor", skew=0.0, failpoints=Failpoints())
    return processes.start("torture.supervised", own)


def _supervised(supervisor: Process | None, folder: Path) -> list[int]:
    """The pids of the supervisor and of its processes."""
    if supervisor is None:
        return []
    listed = folder / "supervised.pids"
    return [supervisor.pid, *(json.loads(listed.read_text()) if listed.exists() else [])]


def _stop_supervisor(supervisor: Process, history: History) -> None:
    """Stop the supervisor and wait for its exit."""
    supervisor.send(SIGTERM)
    deadline = time.monotonic() + 30
    while supervisor.alive and time.monotonic() < deadline:
        time.sleep(MAINTAIN_EVERY)
    history.note("supervisor exit", code=supervisor.code)


def _come_to_rest(harness: Harness, fleet: Fleet, producers: Producers, timeout: float) -> bool:
    """Wait until the producers have ended and no job is due or running. False if that took too long."""
    deadline = time.monotonic() + timeout
    while producers.alive and time.monotonic() < deadline:
        fleet.maintain()
        time.sleep(MAINTAIN_EVERY)
    with SyncClient(harness.direct, jobs) as client:
        # Only once: a resume wakes the workers, and they must find the remaining jobs without a wake-up.
        with suppress(StoreUnavailable):  # a worker that keeps the write lock: the checker reports it
            client.resume("keyed")
        with suppress(StoreUnavailable, ScheduleNotFound):
            client.pause_schedule(BEAT)  # otherwise there is always a job that is due
        while time.monotonic() < deadline:
            fleet.maintain()
            time.sleep(MAINTAIN_EVERY * 3)
            stats = client.stats()
            unfinished = [
                name
                for name, each in stats.types.items()
                if name != "approval" and (each.due or each.scheduled or each.counts.get("running", 0))  # type: ignore[call-overload]
            ]
            if not unfinished:
                return True
    return False


def _start_neighbours(harness: Harness) -> list[str]:
    """Start jobs in the neighbour store, which no worker of this run may change."""
    rng = random.Random(0)
    with SyncClient(harness.neighbour, jobs) as client:
        return [chain.id for chain in client.start_many([work.bind(brisk(rng)) for _ in range(NEIGHBOURS)])]


def _collect(harness: Harness, facts: Facts, neighbours: list[str]) -> None:
    with SyncClient(harness.neighbour, jobs) as client:
        stats = client.stats()
        facts.neighbour = {
            "started": len(neighbours),
            "all": sum(stats.counts.values()),
            "pending": stats.counts["pending"],  # type: ignore[index]
            "ids": neighbours,
        }
    with SyncClient(harness.direct, jobs) as client:
        facts.stats = {str(status): count for status, count in client.stats().counts.items() if count}
        facts.counters = {name: totals(row.total) for name, row in client.counters().types.items()}
        facts.ticks = next((each.counts.started for each in client.schedules() if each.name == BEAT), None)
        facts.rows = [row_of(record) for record in _records(client)]
        facts.steps = steps_of(client.store, facts.rows)
    facts.ledger = harness.ledger()
    facts.step_ledger = harness.step_ledger()
    facts.business = harness.business()


def steps_of(store: Store, rows: list[Row]) -> list[tuple[str, str, str, str | None]]:
    """The completed steps of the jobs with steps."""
    ids = [row.id for row in rows if row.type in STEPPED]
    found: list[tuple[str, str, str, str | None]] = []
    for first in range(0, len(ids), 100):
        some = tuple(ids[first : first + 100])
        stored: list[list[StepRow]] = store.perform_sync(GetSteps(some))
        for job_id, steps in zip(some, stored, strict=True):
            done = (step for step in steps if step.kind == "step" and step.final)
            found += [(job_id, step.name, step.each, (step.result or b"").decode().strip('"')) for step in done]
    return found


def totals(counts: Counts) -> dict[str, int]:
    """The totals of a type, without zeros. The audit does not distinguish retried from rescheduled attempts."""
    named = {name: getattr(counts, name) for name in ("started", "completed", "failed", "reaped", "cancelled")}
    named["repeated"] = counts.retried + counts.rescheduled
    return {name: number for name, number in named.items() if number}


def _records(client: SyncClient) -> list[Record]:
    records: list[Record] = []
    while page := client.store.perform_sync(ListJobs(Filter(), 1000, records[-1].seq if records else None)):
        records += page
    return records


def row_of(record: Record) -> Row:
    """Convert a record to a row of the evidence."""
    output = record.output
    return Row(
        id=record.id, chain=record.chain_id, index=record.index, type=record.type, status=str(record.status),
        attempt=record.attempt, token=record.token, worker=record.worker, key=record.key,
        output=None if output is None else output[:200].decode(errors="replace").strip('"'),
        error_bytes=len(record.error or b""),
        error=None if record.error is None else record.error[:200].decode(errors="replace"),
        open_blockers=record.open_blockers, on_blocker_failure=record.on_blocker_failure,
        scheduled_at=record.scheduled_at,
    )  # fmt: skip
