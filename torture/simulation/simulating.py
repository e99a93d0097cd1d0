"""One simulation: a few processes, a short story, and the evidence of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from holdfast import Client, Worker
from holdfast.core.record import Record
from holdfast.engine.operations import Resume
from torture.actor import Actor
from torture.evidence import Evidence, Facts
from torture.failpoints import Watch
from torture.hearing import LossyWakeups
from torture.history import Call, History, Note, Outcome
from torture.jobs import Stage, jobs
from torture.operations import favouring
from torture.run import row_of
from torture.settings import Failpoints, Settings
from torture.simulation.loop import SimulatedLoop
from torture.simulation.memory import AuditedStore, Connection, Crashed, Weather
from torture.simulation.patching import simulated

LEASE, REAP, POLL = 1.0, 0.5, 1.0
CONCURRENCY = 4
WORKERS = (2, 2, 3)
OPERATIONS = (3, 4, 5, 8)
"""Of the producer. Most stories are short: what goes wrong takes few, and more of them are told in a minute."""
PATIENCE = 60.0
"""Seconds of simulated time for everything to come to rest."""


class Told(History):
    """A history that is kept in memory, by the loop's clock."""

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
        """Nothing to close."""


class Simulation:
    """Two or three workers, a producer with a few things to do or with many, and bad weather for a while."""

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
        self._workers: list[tuple[Worker, asyncio.Task[None], Connection, Told]] = []
        self._calm = False
        self.crashes = 0

    def run(self) -> Evidence:
        """Live through it."""
        loggers = [logging.getLogger(name) for name in ("holdfast", "asyncio")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        asyncio.set_event_loop(self.loop)
        quiet = False
        begun = self.loop.micros()
        try:
            with simulated(self.loop, self.seed, reap=REAP):
                quiet = self.loop.run_until_complete(self._live())
                self._abandon()
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            Stage.history = None
            asyncio.set_event_loop(None)
            self.loop.close()
        return self._evidence(begun, quiet=quiet)

    async def _live(self) -> bool:
        for number in range(self.random.choice(WORKERS)):
            self._start_worker(number)
        producing = asyncio.create_task(self._produce())
        faults = [asyncio.create_task(self._harm()), asyncio.create_task(self._replace_dead())]
        await producing
        for task in faults:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._calm = True
        for connection in self.connections:
            connection.weather, connection.cut_until = Weather(), 0.0
        if all(connection.dead for _, _, connection, _ in self._workers):
            self._start_worker(len(self._workers))
        quiet = await self._come_to_rest()
        await asyncio.gather(*(self._stop(*each) for each in self._workers))
        return quiet

    def _start_worker(self, number: int) -> None:
        history = Told(f"worker-{number}", self.loop.micros, self.calls, self.notes)
        connection = self._connect(history, crash=0.0 if self._calm else 0.006)
        Stage.history = history
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

    def _connect(self, history: Told, *, crash: float) -> Connection:
        rough = self.random.random() < 0.6 and not self._calm
        weather = Weather(
            before=0.03 if rough else 0.0,
            after=0.03 if rough else 0.0,
            slowest=self.random.choice((0.0, 0.005, 0.05)),
            crash=crash if rough else 0.0,
        )
        rng = random.Random(self.random.randrange(1 << 30))
        deaf = self.random.random() < 0.4
        wakeups = LossyWakeups(
            self.store.wakeups, drop=0.4 if deaf else 0.0, double=0.2 if deaf else 0.0, seed=rng.randrange(1 << 30)
        )
        watch = Watch(history, Failpoints())
        connection = Connection(self.store, weather, rng=rng, watch=watch, wakeups=wakeups)
        self.connections.append(connection)
        return connection

    async def _produce(self) -> None:
        history = Told("producer", self.loop.micros, self.calls, self.notes)
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

    async def _harm(self) -> None:
        """Cut a process off for a while, or end a worker."""
        while True:
            await asyncio.sleep(self.random.expovariate(1.5))
            connection = self.random.choice(self.connections)
            if self.random.random() < 0.7:
                seconds = self.random.choice((0.2, 0.8, 2.5 * LEASE) if self._has_others(connection) else (0.2, 0.8))
                connection.cut_until = self.loop.time() + seconds
                # Whoever waits there is told late; workers that are cut off are what the others are for.
                self._note("cut off", seconds=seconds, outage=connection is self._producers)
            elif (alive := [each for each in self._workers if not each[2].dead]) and self.random.random() < 0.5:
                _, _, connection, history = self.random.choice(alive)
                connection.dead = True
                self._note("kill", victim=history.process)

    async def _replace_dead(self) -> None:
        """Start a worker for each that died, soon enough that no bound of time passes without any."""
        replaced: set[str] = set()
        while True:
            await asyncio.sleep(self.random.uniform(0.1, 0.6))
            for _, _, connection, history in list(self._workers):
                if connection.dead and history.process not in replaced:
                    replaced.add(history.process)
                    self._start_worker(len(self._workers))

    def _has_others(self, connection: Connection) -> bool:
        """Whether another worker is there to take over: without one, it would show nothing to be away for long."""
        others = [each for _, _, each, _ in self._workers if each is not connection]
        return any(not each.dead and each.cut_until <= self.loop.time() for each in others)

    def _note(self, kind: str, *, seconds: float = 0.0, outage: bool = False, victim: str | None = None) -> None:
        now = self.loop.micros()
        ended = now + round(seconds * 1_000_000)
        facts = {"kind": kind, "begun": now, "outage": outage, "victim": victim}
        self.notes.append(Note("nemesis", "fault", ended, facts))

    async def _come_to_rest(self) -> bool:
        # Whoever paused a type may not have got through to resume it.
        self.store.perform_sync(Resume(("keyed",)))
        until = self.loop.time() + PATIENCE
        while self.loop.time() < until:
            await asyncio.sleep(0.25)
            if not any(_is_due(record, self.loop.micros()) for record in self.store.rows.values()):
                return True
        return False

    async def _stop(self, worker: Worker, task: asyncio.Task[None], connection: Connection, history: Told) -> None:
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
        """What crashed processes left behind goes with the loop."""
        for connection in self.connections:
            received = connection.wakeups
            assert isinstance(received, LossyWakeups)
            note = Note(
                "hearing", "hints", self.loop.micros(), {"dropped": received.dropped, "doubled": received.doubled}
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
        facts = Facts(
            store="memory", seed=self.seed, profile="simulation", lease=LEASE, reap=REAP, poll=POLL, slack=1.0,
            concurrency=CONCURRENCY, transactional=False, own_clock=False, begun=begun,
            ended=self.loop.micros(), quiet=quiet, rows=[row_of(record) for record in records], stats=counts,
        )  # fmt: skip
        notes = msgspec.json.decode(msgspec.json.encode(self.notes), type=list[Note])
        return Evidence(facts, self.store.rows.changes, self.calls, notes)


def _is_due(record: Record, now: int) -> bool:
    return record.type != "approval" and str(record.status) in ("running", "pending")


def simulate(seed: int, **options: Any) -> Evidence:
    """Everything that happens under this seed."""
    return Simulation(seed, **options).run()
