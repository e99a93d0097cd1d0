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
from torture import evidence as evidences
from torture import file_replacement
from torture.evidence import Evidence, Facts
from torture.final_state import collect
from torture.fleet import Fleet
from torture.flow_jobs import BEAT
from torture.harnesses import HARNESSES, Harness
from torture.history import History, real_now
from torture.jobs import jobs, work
from torture.live_workers import listed
from torture.mutant_loader import changed_migrations
from torture.mutants import MUTANTS, Mutant
from torture.nemesis import Nemesis
from torture.plans import brisk
from torture.processes import ROOT, Process, Processes
from torture.producers import Producers
from torture.profiles import Profile
from torture.rendering import render
from torture.settings import Failpoints, Settings

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
    settings = _settings(harness, profile, facts, folder=folder, mutant=mutant)
    neighbours = _start_neighbours(harness)
    processes = Processes(settings)
    try:
        load = _Load(processes, settings, harness, profile, history=history, rng=rng)
        load.wait_until_ready()
        facts.begun = real_now()
        nemesis = Nemesis(
            harness, load.fleet, history=history, rng=rng, pause=profile.pause, calm=profile.calm,
            only=faults or (mutant.faults if mutant else ()), supervised=load.supervised_pids,
        )  # fmt: skip
        load.run(nemesis, profile.seconds)
        nemesis.heal()
        load.fleet.renew()
        facts.quiet = _come_to_rest(harness, load.fleet, load.producers, profile.settle)
        load.producers.note_ends()
        facts.ended = real_now()
        facts.unharmed = nemesis.unharmed
        _end(harness, facts, load)
        selected = faults or (mutant.faults or ("none",) if mutant else (file_replacement.KIND,))
        if harness.replaceable and file_replacement.KIND in selected:
            file_replacement.replace_file(processes, settings, folder, history)
    finally:
        processes.close()
    facts.leaks |= harness.leaks()
    collect(harness, facts, neighbours)
    evidences.save(folder, facts, harness.audit())
    if not facts.durability and facts.mutant is None:
        render(harness.direct, [row.id for row in facts.rows if row.type == "hostile"], history)


def _settings(harness: Harness, profile: Profile, facts: Facts, *, folder: Path, mutant: Mutant | None) -> Settings:
    return Settings(
        name="", folder=str(folder), url=harness.url + (mutant.address if mutant else ""), seed=facts.seed,
        mutant=facts.mutant, transactional=harness.transactional, skew=WORST_CLOCK if harness.own_clock else 0.0,
        failpoints=Failpoints(profile.kill, profile.stop, often=mutant.often if mutant else {}),
        sweep=profile.sweep and mutant is None, lease=profile.lease, reap=profile.reap, poll=profile.poll,
        concurrency=profile.concurrency, rate=(mutant and mutant.rate) or profile.rate,
        drop=float(mutant is not None and mutant.without_wakeups), seconds=profile.seconds, largest=profile.largest,
        widest=profile.widest, supervised=profile.supervised,
    )  # fmt: skip


class _Load:
    """The processes of a run: producers, workers, and the supervisor of a supervised profile."""

    def __init__(
        self,
        processes: Processes,
        settings: Settings,
        harness: Harness,
        profile: Profile,
        *,
        history: History,
        rng: random.Random,
    ) -> None:
        self._folder = Path(settings.folder)
        self._history = history
        self.producers = Producers(
            processes, settings, profile.producers, history=history, rng=rng, interrupted=profile.interrupted
        )
        if not harness.transactional:
            self.producers.sweep.leave_out("join")
        self.fleet = Fleet(processes, settings, profile.workers, history=history, rng=rng, holder=harness.holder)
        self._supervisor = _supervisor(processes, settings) if profile.supervised else None

    @property
    def supervised_pids(self) -> Path | None:
        """The file with the pids of the supervised processes."""
        return None if self._supervisor is None else self._folder / "supervised.pids"

    @property
    def pids(self) -> list[int]:
        """The pids of the workers, of the supervisor and of its processes."""
        if self._supervisor is None:
            return [*self.fleet.pids]
        listed = self._folder / "supervised.pids"
        return [*self.fleet.pids, self._supervisor.pid, *(json.loads(listed.read_text()) if listed.exists() else [])]

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT
        supervisor = self._supervisor
        while not (self.fleet.ready and self.producers.ready and (supervisor is None or supervisor.ready)):
            if time.monotonic() > deadline or (supervisor is not None and not supervisor.alive):
                raise RuntimeError(f"the processes do not start: see the logs in {self._folder}")
            self._maintain()

    def run(self, nemesis: Nemesis, seconds: float) -> None:
        """Let the producers begin, and inject faults for this time."""
        self.producers.begin()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            nemesis.act()
            self._maintain()

    def close(self) -> None:
        """Stop the workers and the supervisor."""
        self.fleet.close()
        if self._supervisor is not None:
            _stop_supervisor(self._supervisor, self._history)

    def _maintain(self) -> None:
        self.fleet.maintain()
        self.producers.maintain()
        time.sleep(MAINTAIN_EVERY)


def _end(harness: Harness, facts: Facts, load: _Load) -> None:
    """Record what is left at rest, stop the processes, and record the live workers before and after."""
    facts.swept = {"worker": load.fleet.sweep.left, "producer": load.producers.sweep.left}
    facts.leaks |= harness.at_rest(lambda: load.pids)
    facts.live.existing = load.fleet.names
    facts.live.listed = listed(harness.direct)
    load.close()
    facts.live.after_end = listed(harness.direct)
    facts.live.after_gone = listed(harness.direct, gone=True)


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
