"""The client: start chains, wait for them, look at them, operate on them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Never, Self, TypeVar, Unpack, overload

from holdfast.client import client_calls
from holdfast.client import waiting as waiting_module
from holdfast.client.client_calls import Calls, Stats, no_trace, patience, refuse_start_options
from holdfast.client.completing import Completing
from holdfast.client.cycles import QUESTION, cycle_findings
from holdfast.client.event_stream import follow
from holdfast.client.new_jobs import described, listed, with_id
from holdfast.client.references import Names, Statuses, Target, chain_id, job_id, type_names, wanted
from holdfast.client.tx_events import Told, TxEvents
from holdfast.client.waiting import Watcher
from holdfast.client.wakeup_health import hearing
from holdfast.core.job import Chain, Job, Page, Report
from holdfast.core.retry import Seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers
from holdfast.engine.operations import Examine, Finding, Pause, Resume
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Wakeups
from holdfast.registry.jobs import AnyJobType, Bound, Jobs, JobType
from holdfast.registry.options import StartKeywords
from holdfast.stores.address import open_store

T = TypeVar("T")
R = TypeVar("R")


class Client:
    """Starts and follows jobs on a store. SyncClient has the same methods without await.

    One client may be shared by any number of tasks. `tx=` takes the application's own open transaction: what is
    started or changed then commits, or rolls back, with it. `wakeups=` has a SQL store wake workers by other means than
    its own: `redis://...`, or an object that follows `Wakeups`.
    """

    def __init__(
        self,
        store: str | Store,
        jobs: Jobs | None = None,
        *,
        migrate: bool = False,
        wakeups: str | Wakeups | None = None,
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        trace: Callable[[], str | None] | None = None,
    ) -> None:
        self.store = open_store(store, wakeups)
        self._calls = Calls(jobs)
        self.jobs = self._calls.jobs
        self.observers = Observers(observers)
        self.tx_events = TxEvents(self.store, self.observers)
        self._owns_store = isinstance(store, str)
        self._migrate = migrate
        self._trace = trace or no_trace

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect to the store. `async with` does it."""
        await self.store.open()
        if self._migrate:
            await self.store.migrate()

    async def close(self) -> None:
        """Deliver the events of committed transactions, and close the store unless it was given open."""
        await self.tx_events.close()
        if self._owns_store:
            await self.store.close()

    # Starting and waiting

    async def start(self, bound: Bound[T], *, tx: Any = None, **options: Unpack[StartKeywords]) -> Chain[T]:
        """Create a chain, or find the one that its key or id already names (`chain.deduplicated` tells).

        `delay` or `at` say when it is due, `priority` how soon among the due ones, `after` which chains must complete
        first (and `on_blocker_failure` what if one does not), `key` with `dedup`, `window` and `exclude` which chains
        stand for this one already; `max_attempts` and `timeout` replace what the type says; `id` names the chain.
        """
        (chain,) = await self.start_many([described(bound, options)], tx=tx)
        return chain

    async def start_many(self, bounds: Iterable[Bound[T]], *, tx: Any = None) -> list[Chain[T]]:
        """Create many chains in one step, all or none; options go on each bind. Answers are in the same order."""
        return await self._run(self._calls.start(listed(bounds), self._trace()), tx, client_calls.created)

    async def run(self, bound: Bound[T], *, timeout: Seconds | None = None, **options: Never) -> T:
        """Start a chain and wait for its output: request and response. Start options go on the bind."""
        refuse_start_options(options)
        how_long = patience(timeout)  # refused before anything is started
        named, its_id = with_id(bound)
        watcher = Watcher(self.store.wakeups, its_id)
        try:
            chain = await self.start(named)
            watcher.follow(chain.id)
            # A chain that is new had not ended when the watch began: nothing to look at until it is heard of.
            wait = watcher.wait(self.jobs, how_long, look=chain.deduplicated)
            output: T = await waiting_module.run(self.store, watcher.alarm, wait)
            return output
        finally:
            watcher.close()

    @overload
    async def wait(self, chain: Chain[T], *, timeout: Seconds | None = None) -> T: ...

    @overload
    async def wait(self, chain: str, *, timeout: Seconds | None = None) -> Any: ...

    async def wait(self, chain: Chain[T] | str, *, timeout: Seconds | None = None) -> Any:
        """The chain's output, as soon as it is there.

        Raises ChainFailed, ChainCancelled, ChainNotFound (also when it is deleted meanwhile) or WaitTimeout.
        """
        how_long = patience(timeout)
        await self.tx_events.look()
        watcher = Watcher(self.store.wakeups, chain_id(chain))
        try:
            wait = watcher.wait(self.jobs, how_long)
            return await waiting_module.run(self.store, watcher.alarm, wait)
        finally:
            watcher.close()

    # Reading

    async def get(self, chain: Chain[T] | str, *, tx: Any = None) -> Chain[Any] | None:
        """The chain as it is now, or None."""
        return await self._run(self._calls.get(chain_id(chain)), tx)

    async def get_job(self, job: Job | str, *, tx: Any = None) -> Job | None:
        """The job as it is now, or None."""
        return await self._run(self._calls.get_job(job_id(job)), tx)

    async def list_chains(
        self,
        *,
        status: Statuses | None = None,
        type: Names | None = None,
        key: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Chain[Any]]:
        """Chains, newest first. Pages never skip or repeat one, whatever happens in between."""
        shown = wanted(status=status, type=type, key=key, since=since, until=until)
        return await self._run(self._calls.list_chains(shown, cursor, limit), tx)

    async def list_jobs(
        self,
        *,
        chain: Chain[Any] | Job | str | None = None,
        status: Statuses | None = None,
        type: Names | None = None,
        key: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Job]:
        """Jobs, newest first."""
        shown = wanted(status=status, type=type, chain=chain, key=key, since=since, until=until)
        return await self._run(self._calls.list_jobs(shown, cursor, limit), tx)

    async def report(self, job: Job | str, *, tx: Any = None) -> Report | None:
        """A job's history: every attempt with its worker, times, outcome and error. None if there is no such job."""
        return await self._run(self._calls.report(job_id(job)), tx)

    async def stats(self, *, tx: Any = None) -> Stats:
        """Counts by status and type."""
        return await self._run(self._calls.stats(), tx)

    def events(self) -> AsyncGenerator[Event]:
        """What happens on the store, whoever does it, from when this is first asked for an event."""
        return follow(self.store)

    async def examine(self) -> Sequence[Finding]:
        """What is wrong with the store, if anything: what `holdfast doctor` shows."""
        findings = await self.store.perform(Examine())
        waiting_module = await self.store.perform(QUESTION)
        return [*findings, *cycle_findings(waiting_module), *hearing(self.store.wakeups)]

    # Operating

    async def cancel(
        self, chain: Chain[T] | Job | str, *, reason: str = "cancelled by a client", tx: Any = None
    ) -> Chain[Any]:
        """Cancel a chain at its current job and answer it as it now stands: a finished one is left alone.

        A job that has not started never will; a running one is signalled and can write nothing more.
        """
        cancelled, _ = await self._run(self._calls.cancel(chain_id(chain), reason), tx, client_calls.cancelled)
        return cancelled

    async def retry(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Job:
        """Let a failed or cancelled job run again, with its attempts granted anew."""
        return await self._run(self._calls.retry(job), tx, client_calls.retried)

    async def run_now(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Job:
        """Make a scheduled job due at once."""
        return await self._run(self._calls.run_now(job), tx, client_calls.hurried)

    async def delete(self, chains: Iterable[Chain[Any] | str], *, cascade: bool = False, tx: Any = None) -> list[str]:
        """Delete chains, all or none, and answer the ids that were there; `cascade` takes their blockers along."""
        return await self._run(self._calls.delete(chains, cascade), tx, client_calls.deleted)

    async def pause(self, types: Names) -> None:
        """Hand out no jobs of these types until they are resumed. Running ones go on."""
        await self.store.perform(Pause(type_names(types)))

    async def resume(self, types: Names) -> None:
        """Hand out jobs of these types again."""
        await self.store.perform(Resume(type_names(types)))

    async def prune(self, *, limit: int = 500) -> list[str]:
        """Delete up to `limit` finished chains that are past their keep time. Workers do it by themselves."""
        return await self._run(self._calls.prune(limit), None)

    @overload
    def completing(self, chain: Chain[T], *, type: str | AnyJobType | None = None, tx: Any = None) -> Completing[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, Bound[T]]], tx: Any = None
    ) -> Completing[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, T | Bound[T]]], tx: Any = None
    ) -> Completing[T]: ...

    @overload
    def completing(self, chain: Job | str, *, type: JobType[..., ..., Bound[T]], tx: Any = None) -> Completing[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., T | Bound[T]], tx: Any = None
    ) -> Completing[T]: ...

    @overload
    def completing(self, chain: Job | str, *, type: str | None = None, tx: Any = None) -> Completing[Any]: ...

    def completing(
        self, chain: Chain[Any] | Job | str, *, type: str | AnyJobType | None = None, tx: Any = None
    ) -> Completing[Any]:
        """Complete a chain's current job from outside: ``async with client.completing(chain) as current``.

        With a chain, `output` and `continue_with` take what it gives; with an id they take what `type` gives. `type` is
        the type that the current job must have: WrongJobType if it has another one.
        """
        return Completing(
            self.store, self.jobs, Target.of(chain, type), tx=tx, observers=self.observers, tx_events=self.tx_events
        )

    # Performing

    def _run(self, call: procedures.Steps[R], tx: Any, reported: Told[R] | None = None) -> Awaitable[R]:
        return self.tx_events.run(call, tx, reported)
