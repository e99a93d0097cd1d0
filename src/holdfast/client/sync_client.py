"""The blocking client: the same methods without await."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from types import TracebackType
from typing import Any, Never, Self, TypeVar, Unpack, cast, overload

from holdfast.client import client_calls
from holdfast.client import waiting as waiting_module
from holdfast.client.audit import SyncAuditMethods
from holdfast.client.client_calls import ClientCalls, Stats, no_trace, refuse_start_options, wait_seconds
from holdfast.client.completing import SyncCompleting
from holdfast.client.counters import SyncCounterMethods
from holdfast.client.cycle_findings import WAITING_JOBS, cycle_findings
from holdfast.client.declared_schedules import declare
from holdfast.client.event_stream import follow_sync
from holdfast.client.explain import SyncExplainMethods
from holdfast.client.limits import SyncLimitMethods
from holdfast.client.links import SyncLinkMethods
from holdfast.client.listing import SyncListingMethods
from holdfast.client.new_jobs import bound_list, with_id, with_start_options
from holdfast.client.operating import SyncOperatingMethods
from holdfast.client.pause import SyncPauseMethods
from holdfast.client.references import Target, chain_id, job_id
from holdfast.client.schedules import SyncScheduleMethods
from holdfast.client.steps import SyncStepMethods
from holdfast.client.tx_events import EventsOf, SyncTxEvents
from holdfast.client.wakeup_health import wakeup_findings
from holdfast.client.workers import SyncWorkerMethods
from holdfast.core.job import Chain, Job, Report
from holdfast.core.retry import Seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers
from holdfast.engine.operations import Examine, Finding
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import Wakeups
from holdfast.registry.jobs import AnyJobType, Bound, Jobs, JobType
from holdfast.registry.options import StartKeywords, StartKeywordsWithoutAfter
from holdfast.stores.address import StoreAddress, open_store, owns_stores

T = TypeVar("T")
B = TypeVar("B")
R = TypeVar("R")


class SyncClient(
    SyncAuditMethods,
    SyncCounterMethods,
    SyncExplainMethods,
    SyncLimitMethods,
    SyncLinkMethods,
    SyncListingMethods,
    SyncOperatingMethods,
    SyncPauseMethods,
    SyncScheduleMethods,
    SyncStepMethods,
    SyncWorkerMethods,
):
    """Starts and follows jobs on a store, blocking. Any number of threads may share one client.

    `tx=` takes the application's own open transaction, on a blocking connection or session. `wakeups=` replaces the
    wake-ups of a SQL store. `user=` names the operator in the audit; the default is the user of the process.
    """

    def __init__(
        self,
        store: StoreAddress,
        jobs: Jobs | None = None,
        *,
        migrate: bool = False,
        wakeups: str | Wakeups | None = None,
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        trace: Callable[[], str | None] | None = None,
        user: str | None = None,
    ) -> None:
        self.store = open_store(store, wakeups)
        self._calls = ClientCalls(jobs, user, sharded=self.store.sharded)
        self.jobs = self._calls.jobs
        self.observers = Observers(observers, self.jobs)
        self.tx_events = SyncTxEvents(self.store, self.observers)
        self._owns_store = owns_stores(store)
        self._migrate = migrate
        self._migrated = False
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
        """Connect to the store. `with` calls this. A client that is open may be opened again.

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
        self._migrated = False
        if self._owns_store:
            self.store.close_sync()

    def _open(self) -> None:
        self.store.open_sync()
        if self._migrate and not self._migrated:
            self.store.migrate_sync()
            procedures.run_sync(self.store.perform_sync, declare(self.jobs))
            self._migrated = True

    # Starting and waiting

    @overload
    def start(self, bound: Bound[T], *, tx: Any = None, **options: Unpack[StartKeywords]) -> Chain[T]: ...

    @overload
    def start(
        self, bound: Bound[T, B], *, after: B, tx: Any = None, **options: Unpack[StartKeywordsWithoutAfter]
    ) -> Chain[T]: ...

    def start(self, bound: Bound[T, Any], *, tx: Any = None, **options: Any) -> Chain[T]:
        """Create a chain, or return the existing one with its key or id (then `chain.deduplicated` is True).

        `delay` or `at` set when it is due, and `priority` its order among due jobs. `after` lists chains that must
        complete first, and `on_blocker_failure` what happens if one fails. With `when="failed"` it waits for a failure
        of one of them, with `when="ended"` for their ends. `key` with `dedup`, `window` and `exclude` select existing
        chains. `max_attempts` and `timeout` override the type's. `id` sets the chain's id. Raises
        WrongBlockers if the type declares blockers and `after` does not name chains of these types.
        """
        call = self._calls.start([with_start_options(bound, cast("StartKeywords", options))], self._trace())
        (chain,) = self._run(call, tx, client_calls.created)
        return chain

    def start_many(self, bounds: Iterable[Bound[T]], *, tx: Any = None) -> list[Chain[T]]:
        """Create many chains atomically. Options are given on each bind. Returns the chains in the same order."""
        return self._run(self._calls.start(bound_list(bounds), self._trace()), tx, client_calls.created)

    def run(self, bound: Bound[T], *, timeout: Seconds | None = None, **options: Never) -> T:
        """Start a chain and wait for its output. Start options are given on the bind."""
        refuse_start_options(options)
        timeout_seconds = wait_seconds(timeout)  # refused before anything is started
        named, new_chain_id = with_id(bound, self.store)
        self.tx_events.look()
        call = self._calls.run(named, self._trace(), self.observers, timeout_seconds)
        output: T = waiting_module.run_sync(self.store, new_chain_id, call)
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
        return waiting_module.run_sync(
            self.store, chain_id(chain), lambda subscription: subscription.wait(self.jobs, timeout_seconds)
        )

    # Reading

    def get(self, chain: Chain[T] | str, *, tx: Any = None) -> Chain[Any] | None:
        """The chain as it is now, or None."""
        return self._run(self._calls.get(chain_id(chain)), tx)

    def get_job(self, job: Job | str, *, tx: Any = None) -> Job | None:
        """The job as it is now, or None."""
        return self._run(self._calls.get_job(job_id(job)), tx)

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
        return [*findings, *cycle_findings(waiting_jobs), *wakeup_findings(self.store)]

    # Operating

    def prune(self, *, limit: int = 500) -> list[str]:
        """Delete up to `limit` finished chains that are past their keep time. Workers do this automatically."""
        return self._run(self._calls.prune(limit), None)

    @overload
    def completing(
        self, chain: Chain[T], *, type: str | AnyJobType | None = None, tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, Bound[T]], Any], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Coroutine[Any, Any, T | Bound[T]], Any], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., Bound[T], Any], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(
        self, chain: Job | str, *, type: JobType[..., ..., T | Bound[T], Any], tx: Any = None
    ) -> SyncCompleting[T]: ...

    @overload
    def completing(self, chain: Job | str, *, type: str | None = None, tx: Any = None) -> SyncCompleting[Any]: ...

    def completing(
        self, chain: Chain[Any] | Job | str, *, type: str | AnyJobType | None = None, tx: Any = None
    ) -> SyncCompleting[Any]:
        """Complete a chain's current job from outside: ``with client.completing(chain) as current``.

        `output` and `continue_with` are typed by the chain's output, or with an id by the output of `type`. `type` is
        the required type of the current job: WrongJobType if it has another one. A block that calls neither of the
        two methods leaves the job as it is. Its writes through `current.tx` are committed in any case. A finished chain
        can be read in the block: only the two methods raise AlreadyCompleted.
        """
        return SyncCompleting(
            self.store, self.jobs, Target.of(chain, type), tx=tx, observers=self.observers, tx_events=self.tx_events
        )

    # Performing

    def _run(self, call: procedures.Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        return self.tx_events.run(call, tx, events_of)
