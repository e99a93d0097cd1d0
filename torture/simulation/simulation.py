"""One simulation: a few processes, a short workload, and its evidence."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from holdfast import Client, ScheduleNotFound, Worker
from holdfast.client import schedule_changes
from holdfast.core.record import Record
from holdfast.engine import procedures
from holdfast.engine.operations import Resume
from torture.actor import Actor
from torture.behaviour import Recorder
from torture.evidence import Evidence, Facts
from torture.failpoints import Watch
from torture.final_state import row_of, steps_of
from torture.flow_jobs import BEAT
from torture.history import Call, History, Note, Outcome
from torture.jobs import jobs
from torture.lossy_wakeups import LossyWakeups
from torture.operations import favouring
from torture.settings import Failpoints, Settings
from torture.simulation.loop import SimulatedLoop
from torture.simulation.patches import simulated
from torture.simulation.simulated_store import AuditedStore, Connection, Crashed, FaultRates

LEASE, REAP, POLL = 1.0, 0.5, 1.0
CONCURRENCY = 4
WORKERS = (2, 2, 3)
OPERATIONS = (3, 4, 5, 8)
"""Operations of the producer. Most runs are short: few operations suffice for a violation, and more seeds fit."""
DECLARED_WITHIN = 10.0
"""Seconds in which every worker has declared its schedules, or has died."""
TIMEOUT = 60.0
"""Simulated seconds for finishing all due jobs after the load."""


class MemoryHistory(History):
    """A history in memory with the clock of the loop."""

    def __init__(self, process: str, clock: Callable[[], int], calls: list[Call], notes: list[Note]) -> None:
        self.process = process
        self._clock = clock
        self._all_calls = calls
        self._all_notes = notes
        self._own: list[Call] = []

    def now(self) -> int:
        return self._clock()

    def note(self, what: str, **facts: Any) -> None:
        self._all_notes.append(Note(self.process, what, self._clock(), facts))

    def invoke(self, op: str, **arguments: Any) -> int:
        call = Call(self.process, op, arguments, self._clock())
        self._own.append(call)
        self._all_calls.append(call)
        return len(self._own) - 1

    def answer(self, call: int, outcome: Outcome, **facts: Any) -> None:
        answered = self._own[call]
        answered.outcome, answered.ended, answered.facts = outcome, self._clock(), facts

    def close(self) -> None:
        """Does nothing."""


class Simulation:
    """Two or three workers and a producer, with faults during the load."""

    def __init__(self, seed: int, *, favoured: tuple[str, ...] = ()) -> None:
        self.seed = seed
        self.loop = SimulatedLoop()
        self.random = random.Random(seed)
        self.store = AuditedStore(self.loop.micros)
        self.calls: list[Call] = []
        self.notes: list[Note] = []
        self.connections: list[Connection] = []
        self._operations = self.random.choice(OPERATIONS)
        self._favoured = favoured
        self._producers: Connection | None = None
        self._workers: list[tuple[Worker, asyncio.Task[None], Connection, MemoryHistory]] = []
        self._calm = False
        self.crashes = 0

    def run(self) -> Evidence:
        """Run the simulation and return its evidence."""
        loggers = [logging.getLogger(name) for name in ("holdfast", "asyncio")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        asyncio.set_event_loop(self.loop)
        quiet = False
        begun = self.loop.micros()
        try:
            with simulated(self.loop, self.seed, reap=REAP):
                quiet = self.loop.run_until_complete(self._main())
                self._abandon()
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            Recorder.history = None
            asyncio.set_event_loop(None)
            self.loop.close()
        return self._evidence(begun, quiet=quiet)

    async def _main(self) -> bool:
        for number in range(self.random.choice(WORKERS)):
            self._start_worker(number)
        producing = asyncio.create_task(self._produce())
        faults = [asyncio.create_task(self._inject_faults()), asyncio.create_task(self._replace_dead())]
        await producing
        for task in faults:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._calm = True
        for connection in self.connections:
            connection.fault_rates, connection.cut_until = FaultRates(), 0.0
        if all(connection.dead for _, _, connection, _ in self._workers):
            self._start_worker(len(self._workers))
        quiet = await self._come_to_rest()
        await asyncio.gather(*(self._stop(*each) for each in self._workers))
        return quiet

    def _start_worker(self, number: int) -> None:
        history = MemoryHistory(f"worker-{number}", self.loop.micros, self.calls, self.notes)
        connection = self._connect(history, crash=0.0 if self._calm else 0.006)
        Recorder.history = history
        worker = Worker(
            Client(connection, jobs),
            worker_id=history.process,
            concurrency=CONCURRENCY,
            lease=LEASE,
            poll_interval=POLL,
            grace=3,
        )
        task = asyncio.create_task(self._work(worker))
        self._workers.append((worker, task, connection, history))

    async def _work(self, worker: Worker) -> None:
        try:
            await worker.run(signals=False)
        except* (Crashed, asyncio.CancelledError):
            pass

    def _connect(self, history: MemoryHistory, *, crash: float) -> Connection:
        rough = self.random.random() < 0.6 and not self._calm
        fault_rates = FaultRates(
            before=0.03 if rough else 0.0,
            after=0.03 if rough else 0.0,
            slowest=self.random.choice((0.0, 0.005, 0.05)),
            crash=crash if rough else 0.0,
        )
        rng = random.Random(self.random.randrange(1 << 30))
        lossy = self.random.random() < 0.4
        wakeups = LossyWakeups(
            self.store.wakeups, drop=0.4 if lossy else 0.0, double=0.2 if lossy else 0.0, seed=rng.randrange(1 << 30)
        )
        watch = Watch(history, Failpoints())
        connection = Connection(self.store, fault_rates, rng=rng, watch=watch, wakeups=wakeups)
        self.connections.append(connection)
        return connection

    async def _produce(self) -> None:
        history = MemoryHistory("producer", self.loop.micros, self.calls, self.notes)
        settings = Settings(
            name="producer", folder="", url="memory://", seed=self.seed, transactional=False, harsh=False, lease=LEASE,
            threads=False,
        )  # fmt: skip
        self._producers = self._connect(history, crash=0.0)
        client = Client(self._producers, jobs)
        actor = Actor(client, history, random.Random(self.seed), settings)
        running: list[asyncio.Task[None]] = []
        weights = favouring(self._favoured)
        for _ in range(self._operations):
            (operation,) = self.random.choices(list(weights), list(weights.values()))
            running.append(asyncio.ensure_future(operation(actor)))
            await asyncio.sleep(self.random.expovariate(10))
        for each in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(each, BaseException):
                history.note("broke", error=f"{type(each).__name__}: {each}")

    async def _inject_faults(self) -> None:
        """Disconnect a process for some time, or kill a worker."""
        while True:
            await asyncio.sleep(self.random.expovariate(1.5))
            connection = self.random.choice(self.connections)
            if self.random.random() < 0.7:
                seconds = self.random.choice((0.2, 0.8, 2.5 * LEASE) if self._has_others(connection) else (0.2, 0.8))
                connection.cut_until = self.loop.time() + seconds
                # An outage for the waiters of the producer. For a worker it is not: the other workers take over.
                self._note("cut off", seconds=seconds, outage=connection is self._producers)
            elif (alive := [each for each in self._workers if not each[2].dead]) and self.random.random() < 0.5:
                _, _, connection, history = self.random.choice(alive)
                connection.dead = True
                self._note("kill", victim=history.process)

    async def _replace_dead(self) -> None:
        """Start a worker for each dead one, soon enough that no time limit passes without a worker."""
        replaced: set[str] = set()
        while True:
            await asyncio.sleep(self.random.uniform(0.1, 0.6))
            for _, _, connection, history in list(self._workers):
                if connection.dead and history.process not in replaced:
                    replaced.add(history.process)
                    self._start_worker(len(self._workers))

    def _has_others(self, connection: Connection) -> bool:
        """Whether another worker can take over; without one, a long disconnection would prove nothing."""
        others = [each for _, _, each, _ in self._workers if each is not connection]
        return any(not each.dead and each.cut_until <= self.loop.time() for each in others)

    def _note(self, kind: str, *, seconds: float = 0.0, outage: bool = False, victim: str | None = None) -> None:
        now = self.loop.micros()
        ended = now + round(seconds * 1_000_000)
        facts = {"kind": kind, "begun": now, "outage": outage, "victim": victim}
        self.notes.append(Note("nemesis", "fault", ended, facts))

    async def _come_to_rest(self) -> bool:
        # The resume of a paused type may have failed.
        self.store.perform_sync(Resume(("keyed",)))
        paused = False
        begun = self.loop.time()
        while self.loop.time() < begun + TIMEOUT:
            if not paused:
                with suppress(ScheduleNotFound):
                    procedures.run_sync(self.store.perform_sync, schedule_changes.pause(BEAT, None, None))
                    paused = True
            await asyncio.sleep(0.25)
            # A worker that began a moment ago may not have declared its schedules yet.
            settled = paused or self.loop.time() > begun + DECLARED_WITHIN
            if settled and not any(_is_due(record, self.loop.micros()) for record in self.store.rows.values()):
                return True
        return False

    async def _stop(
        self, worker: Worker, task: asyncio.Task[None], connection: Connection, history: MemoryHistory
    ) -> None:
        if task.done() or connection.dead:
            return
        asked = self.loop.micros()
        worker.stop()
        await asyncio.wait([task], timeout=30)
        code = 0 if task.done() else "it did not end"
        self.notes.append(
            Note("nemesis", "exit", self.loop.micros(), {"worker": history.process, "code": code, "asked": asked})
        )

    def _abandon(self) -> None:
        """Record the counts of wake-ups, and cancel the tasks that crashed processes left."""
        for connection in self.connections:
            received = connection.wakeups
            assert isinstance(received, LossyWakeups)
            note = Note(
                "wakeups", "hints", self.loop.micros(), {"dropped": received.dropped, "doubled": received.doubled}
            )
            self.notes.append(note)
        self.crashes = sum(connection.dead for connection in self.connections)
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        for connection in self.connections:
            connection.dead = True
        for task in left:
            task.cancel()
        if left:
            self.loop.run_until_complete(asyncio.wait(left, timeout=60))

    def _evidence(self, begun: int, *, quiet: bool) -> Evidence:
        records = list(self.store.rows.values())
        counts: dict[str, int] = {}
        for record in records:
            counts[str(record.status)] = counts.get(str(record.status), 0) + 1
        rows = [row_of(record) for record in records]
        facts = Facts(
            store="memory", seed=self.seed, profile="simulation", lease=LEASE, reap=REAP, poll=POLL, slack=1.0,
            concurrency=CONCURRENCY, transactional=False, own_clock=False, begun=begun,
            ended=self.loop.micros(), quiet=quiet, rows=rows, stats=counts,
            steps=steps_of(self.store, rows),
        )  # fmt: skip
        notes = msgspec.json.decode(msgspec.json.encode(self.notes), type=list[Note])
        return Evidence(facts, self.store.rows.changes, self.calls, notes)


def _is_due(record: Record, now: int) -> bool:
    return record.type != "approval" and str(record.status) in ("running", "pending")


def simulate(seed: int, **options: Any) -> Evidence:
    """Run the simulation of this seed."""
    return Simulation(seed, **options).run()
