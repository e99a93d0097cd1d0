"""A run: load and harm, then peace, then the evidence."""

from __future__ import annotations

import platform
import random
import time
from pathlib import Path

import msgspec

from holdfast import SyncClient
from holdfast.job import Record
from holdfast.operations import Filter, ListJobs
from torture import evidence as evidences
from torture.audit import Row
from torture.evidence import Evidence, Facts
from torture.fleet import Fleet
from torture.grounds import GROUNDS, Ground
from torture.history import History, real_now
from torture.jobs import jobs, work
from torture.mutations import MUTANTS
from torture.nemesis import Nemesis
from torture.planning import brisk
from torture.processes import Process, Processes
from torture.profiles import Profile
from torture.settings import Failpoints, Settings

TEND_EVERY = 0.03
NEIGHBOURS = 20
WORST_CLOCK = 3600.0


def torture(
    store: str, profile: Profile, folder: Path, *, seed: int, name: str = "", mutant: str | None = None
) -> Evidence:
    """Run a profile on a store, and leave the evidence in the folder. The same seed draws the same plan."""
    rng = random.Random(seed)
    with GROUNDS[store](folder) as ground:
        facts = Facts(
            store=store, seed=seed, profile=name, mutant=mutant, lease=profile.lease, reap=profile.reap,
            poll=profile.poll, transactional=ground.transactional, own_clock=ground.own_clock,
            versions={"python": platform.python_version(), **ground.versions},
        )  # fmt: skip
        history = History(folder, "nemesis")
        try:
            _run(ground, profile, facts, folder, history, rng)
        finally:
            history.close()
    return evidences.load(folder)


def _run(ground: Ground, profile: Profile, facts: Facts, folder: Path, history: History, rng: random.Random) -> None:
    extra = MUTANTS[facts.mutant].address if facts.mutant else ""
    settings = Settings(
        name="", folder=str(folder), url=ground.url + extra, seed=facts.seed, mutant=facts.mutant,
        transactional=ground.transactional, skew=WORST_CLOCK if ground.own_clock else 0.0,
        failpoints=Failpoints(profile.kill, profile.stop), lease=profile.lease, reap=profile.reap, poll=profile.poll,
        concurrency=profile.concurrency, rate=profile.rate, seconds=profile.seconds,
    )  # fmt: skip
    neighbours = _move_in(ground)
    processes = Processes(settings)
    try:
        producers = [_producer(processes, settings, number, rng) for number in range(profile.producers)]
        fleet = Fleet(processes, settings, profile.workers, history=history, rng=rng)
        while not fleet.ready or not all(producer.ready for producer in producers):
            fleet.tend()
            time.sleep(TEND_EVERY)
        facts.begun = real_now()
        only = MUTANTS[facts.mutant].faults if facts.mutant else ()
        nemesis = Nemesis(ground, fleet, history=history, rng=rng, pause=profile.pause, only=only)
        until = time.monotonic() + profile.seconds
        while time.monotonic() < until:
            fleet.tend()
            nemesis.act()
            time.sleep(TEND_EVERY)
        nemesis.heal()
        fleet.renew()
        facts.quiet = _come_to_rest(ground, fleet, producers, profile.settle)
        facts.ended = real_now()
        fleet.close()
    finally:
        processes.close()
    facts.leaks |= ground.leaks()
    _collect(ground, facts, neighbours)
    evidences.save(folder, facts, ground.audit())


def _producer(processes: Processes, settings: Settings, number: int, rng: random.Random) -> Process:
    seed = rng.randrange(1 << 30)
    own = msgspec.structs.replace(
        settings, name=f"producer-{number}", seed=seed, skew=0.0, failpoints=Failpoints(), drop=0.1, double=0.1
    )
    return processes.start("torture.producer", own)


def _come_to_rest(ground: Ground, fleet: Fleet, producers: list[Process], patience: float) -> bool:
    """Wait until producers have ended and nothing is due or running; tells whether that came about."""
    deadline = time.monotonic() + patience
    while any(producer.alive for producer in producers) and time.monotonic() < deadline:
        fleet.tend()
        time.sleep(TEND_EVERY)
    with SyncClient(ground.direct, jobs) as client:
        # Once: whoever resumes wakes the workers, which are to find what is left by themselves.
        client.resume("keyed")
        while time.monotonic() < deadline:
            fleet.tend()
            time.sleep(TEND_EVERY * 3)
            stats = client.stats()
            unfinished = [
                name
                for name, each in stats.types.items()
                if name != "approval" and (each.due or each.scheduled or each.counts.get("running", 0))  # type: ignore[call-overload]
            ]
            if not unfinished:
                return True
    return False


def _move_in(ground: Ground) -> list[str]:
    """Jobs next door, which no worker of this run may touch."""
    rng = random.Random(0)
    with SyncClient(ground.neighbour, jobs) as client:
        return [chain.id for chain in client.start_many([work.bind(brisk(rng)) for _ in range(NEIGHBOURS)])]


def _collect(ground: Ground, facts: Facts, neighbours: list[str]) -> None:
    with SyncClient(ground.neighbour, jobs) as client:
        stats = client.stats()
        facts.neighbour = {
            "started": len(neighbours),
            "all": sum(stats.counts.values()),
            "pending": stats.counts["pending"],  # type: ignore[index]
            "ids": neighbours,
        }
    with SyncClient(ground.direct, jobs) as client:
        facts.stats = {str(status): count for status, count in client.stats().counts.items() if count}
        facts.rows = [row_of(record) for record in _records(client)]
    facts.ledger = ground.ledger()
    facts.business = ground.business()


def _records(client: SyncClient) -> list[Record]:
    records: list[Record] = []
    while page := client.store.perform_sync(ListJobs(Filter(), 1000, records[-1].seq if records else None)):
        records += page
    return records


def row_of(record: Record) -> Row:
    """A job as evidence."""
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
