"""The methods of the clients as procedures: Client awaits their operations, SyncClient blocks on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.client import plugged_starts
from holdfast.client.new_jobs import new_chain
from holdfast.client.placed_chains import placed_chains
from holdfast.client.waiting import ChainSubscription, WaitProcedure, outcome
from holdfast.core.details import NO_DETAILS, JobDetails
from holdfast.core.failure import read_error
from holdfast.core.job import AttemptReport, Chain, Job, Report, moment
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.retry import Seconds, seconds
from holdfast.core.step_report import finished_steps
from holdfast.core.waiting_cycles import check_batch
from holdfast.engine.audit_user import audit_of
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about, log
from holdfast.engine.operations import (
    LOG,
    Audit,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    GetSteps,
    Prune,
    TypeStats,
)
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import check_duration, check_text


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one snapshot, by status and by type."""

    counts: dict[Status, int]
    types: dict[str, TypeStats]

    @property
    def due(self) -> int:
        """Jobs that could run now: pending, due, and of a type that is not paused."""
        return sum(stats.due for stats in self.types.values() if not stats.paused)


class ClientCalls:
    """The procedure of each method. It turns records into chains, jobs and reports."""

    def __init__(self, jobs: Jobs | None, user: str | None = None, *, sharded: bool = False) -> None:
        check_text("user", user)
        self._sharded = sharded
        self._user = user
        self.jobs = Jobs() if jobs is None else jobs
        self._has_registry = jobs is not None
        self._started: set[str] = set()
        """Types that were started by this client, and looked up in the registry."""

    def audit(self, reason: str | None) -> Audit | None:
        """The audit of a change that an operator makes with this client. None inside a handler."""
        return audit_of(self._user, reason)

    def chain(self, record: ChainRecord) -> Chain[Any]:
        return Chain(record, self.jobs)

    def job(self, record: Record) -> Job:
        return Job(record, self.jobs)

    def start(self, bounds: Sequence[Bound[Any]], trace: str | None) -> Procedure[list[Chain[Any]]]:
        sent = NO_DETAILS if trace is None else JobDetails(trace=trace)
        if self._sharded:
            new = yield from placed_chains(bounds, sent)
        else:
            new = tuple([new_chain(bound, sent) for bound in bounds])
        check_batch(new)
        jobs = self.jobs
        started = yield from plugged_starts.start(jobs, new)
        if self._has_registry:
            for bound in bounds:
                if bound.type.name not in self._started:
                    self._warn_if_unregistered(bound.type.name)
        return [Chain(chain, jobs, deduplicated=deduplicated) for chain, deduplicated in started]

    def run(
        self, bound: Bound[Any], trace: str | None, observers: Observers, timeout: float | None
    ) -> Callable[[ChainSubscription], WaitProcedure]:
        """Start a chain and wait for its output. The subscription is for the id of the new chain, if it is known."""

        def start_and_wait(subscription: ChainSubscription) -> WaitProcedure:
            (chain,) = yield from self.start([bound], trace)
            observers.deliver(created(observers, [chain]))
            # The id of an existing chain, and any id on a sharded store, is known only after the start.
            known_later = chain.deduplicated or self._sharded
            record: ChainRecord = yield from subscription.finished_after_start(
                chain.id, timeout, known_later=known_later
            )
            return outcome(self.chain(record))

        return start_and_wait

    def _warn_if_unregistered(self, name: str) -> None:
        """Warn once per type if the registry does not contain it: no worker with this registry runs the job."""
        self._started.add(name)
        if name not in self.jobs:
            log.warning(
                "job type %r was started, and is not in the registry of this client: workers with this registry "
                "do not run it; is a jobs.include(...) missing?",
                name,
            )

    def get(self, chain_id: str) -> Procedure[Chain[Any] | None]:
        (record,) = yield GetChains((chain_id,))
        return None if record is None else self.chain(record)

    def get_job(self, job_id: str) -> Procedure[Job | None]:
        (record,) = yield GetJobs((job_id,))
        return None if record is None else self.job(record)

    def report(self, job_id: str) -> Procedure[Report | None]:
        history = yield GetHistory(job_id, may_lag=True)
        if history is None:
            return None
        record, past = history
        logs = {(row.number, row.started_at): (row.error or b"").decode() for row in past if row.outcome == LOG}
        attempts = [
            AttemptReport(
                attempt.number,
                attempt.worker,
                moment(attempt.started_at),
                moment(attempt.ended_at),
                attempt.outcome,
                read_error(attempt.error),
                moment(attempt.next_at),
                logs.get((attempt.number, attempt.started_at)),
            )
            for attempt in past
            if attempt.outcome != LOG
        ]
        # A first attempt that runs or has completed has no history row: its data is in the row of the job.
        current = record.status is Status.RUNNING or (record.status is Status.COMPLETED and record.worker is not None)
        if current:
            begun, ended = moment(record.started_at), moment(record.finished_at)
            log_text = logs.get((record.attempt, record.started_at))
            attempts.append(
                AttemptReport(record.attempt, record.worker, begun, ended, str(record.status), None, log=log_text)
            )
        (rows,) = yield GetSteps((job_id,))
        return Report(self.job(record), attempts, finished_steps(rows))

    def prune(self, limit: int) -> Procedure[list[str]]:
        # SQLite treats a negative limit as no limit.
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        pruned: list[str] = yield Prune(limit)
        return pruned

    def stats(self) -> Procedure[Stats]:
        rows: list[TypeStats] = yield GetStats(may_lag=True)
        counts = {status: sum(row.counts.get(status, 0) for row in rows) for status in Status}
        return Stats(counts, {row.type: row for row in rows})


def refuse_start_options(options: Mapping[str, object]) -> None:
    """TypeError for start options given to `run`: its timeout is the caller's and not the attempt's."""
    if options:
        given = ", ".join(f"{name}=..." for name in options)
        raise TypeError(f"run takes only timeout, how long the caller waits; say bind(...).options({given})")


def wait_seconds(timeout: Seconds | None) -> float | None:
    """The timeout of a wait in seconds; None waits forever."""
    check_duration("timeout", timeout, zero=True)
    return None if timeout is None else seconds(timeout)


def created(observers: Observers, chains: Iterable[Chain[Any]]) -> list[Event]:
    """The events of chains that were created, without deduplicated ones."""
    if not observers.wants("created"):
        return []
    return [event_about("created", chain.record.first) for chain in chains if not chain.deduplicated]


def no_trace() -> None:
    return None
