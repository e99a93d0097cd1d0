"""The blocking client: the same methods without await."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from types import TracebackType
from typing import Any, Never, Self, TypeVar, Unpack, overload

from holdfast.client import client_calls
from holdfast.client import waiting as waiting_module
from holdfast.client.client_calls import ClientCalls, Stats, no_trace, refuse_start_options, wait_seconds
from holdfast.client.completing import SyncCompleting
from holdfast.client.cycle_findings import WAITING_JOBS, cycle_findings
from holdfast.client.event_stream import follow_sync
from holdfast.client.new_jobs import bound_list, with_id, with_start_options
from holdfast.client.references import Names, Statuses, Target, chain_id, job_id, listing_filter, type_names
from holdfast.client.tx_events import EventsOf, SyncTxEvents
from holdfast.client.waiting import ChainSubscription
from holdfast.client.wakeup_health import wakeup_findings
from holdfast.core.job import Chain, Job, Page, Report
from holdfast.core.retry import Seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers
from holdfast.engine.operations import Examine, Finding, Pause, Resume
from holdfast.engine.store import Store
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import Wakeups
from holdfast.registry.jobs import AnyJobType, Bound, Jobs, JobType
from holdfast.registry.options import StartKeywords
from holdfast.stores.address import open_store

T = TypeVar("T")
R = TypeVar("R")


class SyncClient:
    """Starts and follows jobs on a store, blocking. Any number of threads may share one client.

    `tx=` takes the application's own open transaction, on a blocking connection or session. `wakeups=` replaces the
    wake-ups of a SQL store.
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
        self._calls = ClientCalls(jobs)
        self.jobs = self._calls.jobs
        self.observers = Observers(observers)
        self.tx_events = SyncTxEvents(self.store, self.observers)
        self._owns_store = isinstance(store, str)
        self._migrate = migrate
        self._trace = trace or no_trace

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Connect to the store. `with` calls this.

        An exception of a signal handler ends this call; whether the store is open then is unknown. Call `close`.
        """
        uninterrupted(self._open)

    def close(self) -> None:
        """Deliver the events of committed transactions, and close the store unless it was given as an object.

        If an exception of a signal handler ends this call, the store is closed in the background.
        """
        uninterrupted(self._close)

    def _close(self) -> None:
        self.tx_events.close()
        if self._owns_store:
            self.store.close_sync()

    def _open(self) -> None:
        self.store.open_sync()
        if self._migrate:
            self.store.migrate_sync()

    # Starting and waiting

    def start(self, bound: Bound[T], *, tx: Any = None, **options: Unpack[StartKeywords]) -> Chain[T]:
        """Create a chain, or return the existing one with its key or id (then `chain.deduplicated` is True).

        `delay` or `at` set when it is due, and `priority` its order among due jobs. `after` lists chains that must
        complete first, and `on_blocker_failure` what happens if one fails. `key` with `dedup`, `window` and `exclude`
        select existing chains. `max_attempts` and `timeout` override the type's. `id` sets the chain's id.
        """
        (chain,) = self.start_many([with_start_options(bound, options)], tx=tx)
        return chain

    def start_many(self, bounds: Iterable[Bound[T]], *, tx: Any = None) -> list[Chain[T]]:
        """Create many chains atomically. Options go on each bind. Returns the chains in the same order."""
        return self._run(self._calls.start(bound_list(bounds), self._trace()), tx, client_calls.created)

    def run(self, bound: Bound[T], *, timeout: Seconds | None = None, **options: Never) -> T:
        """Start a chain and wait for its output. Start options go on the bind."""
        refuse_start_options(options)
        timeout_seconds = wait_seconds(timeout)  # refused before anything is started
        named, new_chain_id = with_id(bound)
        self.tx_events.look()
        with closing(ChainSubscription(self.store.wakeups, new_chain_id)) as subscription:
            call = self._calls.run(named, self._trace(), self.observers, subscription, timeout_seconds)
            output: T = waiting_module.run_sync(self.store, subscription.wake_flag, call)
            return output

    @overload
    def wait(self, chain: Chain[T], *, timeout: Seconds | None = None) -> T: ...

    @overload
    def wait(self, chain: str, *, timeout: Seconds | None = None) -> Any: ...

    def wait(self, chain: Chain[T] | str, *, timeout: Seconds | None = None) -> Any:
        """Wait for the chain's output.

        Raises ChainFailed, ChainCancelled, ChainNotFound (also when it is deleted meanwhile) or WaitTimeout.
        """
        timeout_seconds = wait_seconds(timeout)
        self.tx_events.look()
        subscription = ChainSubscription(self.store.wakeups, chain_id(chain))
        try:
            wait = subscription.wait(self.jobs, timeout_seconds)
            return waiting_module.run_sync(self.store, subscription.wake_flag, wait)
        finally:
            subscription.close()

    # Reading

    def get(self, chain: Chain[T] | str, *, tx: Any = None) -> Chain[Any] | None:
        """The chain as it is now, or None."""
        return self._run(self._calls.get(chain_id(chain)), tx)

    def get_job(self, job: Job | str, *, tx: Any = None) -> Job | None:
        """The job as it is now, or None."""
        return self._run(self._calls.get_job(job_id(job)), tx)

    def list_chains(
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
        """Chains, newest first. Pages never skip or repeat a chain, even if chains are created or deleted meanwhile."""
        shown = listing_filter(status=status, type=type, key=key, since=since, until=until)
        return self._run(self._calls.list_chains(shown, cursor, limit), tx)

    def list_jobs(
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
        shown = listing_filter(status=status, type=type, chain=chain, key=key, since=since, until=until)
        return self._run(self._calls.list_jobs(shown, cursor, limit), tx)

    def report(self, job: Job | str, *, tx: Any = None) -> Report | None:
        """A job's history: every attempt with its worker, times, outcome and error. None if there is no such job."""
        return self._run(self._calls.report(job_id(job)), tx)

    def stats(self, *, tx: Any = None) -> Stats:
        """Counts by status and type."""
        return self._run(self._calls.stats(), tx)

    def events(self) -> Generator[Event]:
        """Events of all programs on the store, beginning with the first `next`."""
        return follow_sync(self.store)

    def examine(self) -> Sequence[Finding]:
        """Check the store for problems, as `holdfast doctor` does."""
        findings = self.store.perform_sync(Examine())
        waiting_jobs = self.store.perform_sync(WAITING_JOBS)
        return [*findings, *cycle_findings(waiting_jobs), *wakeup_findings(self.store.wakeups)]

    # Operating

    def cancel(
        self, chain: Chain[T] | Job | str, *, reason: str = "cancelled by a client", tx: Any = None
    ) -> Chain[Any]:
        """Cancel a chain at its current job and return the chain. A finished chain does not change.

        A job that has not started will not start. A running attempt is aborted and can write nothing more.
        """
        cancelled, _ = self._run(self._calls.cancel(chain_id(chain), reason), tx, client_calls.cancelled)
        return cancelled

    def retry(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Job:
        """Make a failed or cancelled job pending again, with all of its attempts."""
        return self._run(self._calls.retry(job), tx, client_calls.retried)

    def run_now(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Job:
        """Make a scheduled job due at once."""
        return self._run(self._calls.run_now(job), tx, client_calls.hurried)

    def delete(self, chains: Iterable[Chain[Any] | str], *, cascade: bool = False, tx: Any = None) -> list[str]:
        """Delete chains atomically and return the ids that existed. `cascade` deletes their blockers too."""
        return self._run(self._calls.delete(chains, cascade), tx, client_calls.deleted)

    def pause(self, types: Names) -> None:
        """Let no worker claim jobs of these types until they are resumed. Running attempts continue."""
        self.store.perform_sync(Pause(type_names(types)))

    def resume(self, types: Names) -> None:
        """Let workers claim jobs of these types again."""
        self.store.perform_sync(Resume(type_names(types)))

    def prune(self, *, limit: int = 500) -> list[str]:
        """Delete up to `limit` finished chains that are past their keep time. Workers do this automatically."""
        return self._run(self._calls.prune(limit), None)

    @overload
    def completing(
        self, chain: Chain[T], *, type: str | AnyJobType | None = None, tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, Bound[T]]], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, T | Bound[T]]], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Bound[T]], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., T | Bound[T]], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(self, chain: Job | str, *, type: str | None = None, tx: Any = None) -> SyncCompleting[Any]: ...

    def completing(
        self, chain: Chain[Any] | Job | str, *, type: str | AnyJobType | None = None, tx: Any = None
    ) -> SyncCompleting[Any]:
        """Complete a chain's current job from outside: ``with client.completing(chain) as current``.

        `output` and `continue_with` are typed by the chain's output, or with an id by the output of `type`. `type` is
        the required type of the current job: WrongJobType if it has another one.
        """
        return SyncCompleting(
            self.store, self.jobs, Target.of(chain, type), tx=tx, observers=self.observers, tx_events=self.tx_events
        )

    # Performing

    def _run(self, call: procedures.Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        return self.tx_events.run(call, tx, events_of)
