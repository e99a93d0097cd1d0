"""The methods of the clients as procedures: Client awaits their operations, SyncClient blocks on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.client.new_jobs import new_chain, with_start_options
from holdfast.client.references import chain_id, job_id
from holdfast.client.waiting import ChainSubscription, WaitProcedure
from holdfast.core.failure import read_error
from holdfast.core.failure import write as write_error
from holdfast.core.job import AttemptReport, Chain, Job, Page, Report, moment
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.retry import Seconds, seconds
from holdfast.core.waiting_cycles import check_batch
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about, log
from holdfast.engine.operations import (
    Cancel,
    Delete,
    Filter,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    ListChains,
    ListJobs,
    Prune,
    RetryJobs,
    RunNow,
    Start,
    TypeStats,
)
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import check_duration


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

    def __init__(self, jobs: Jobs | None) -> None:
        self.jobs = Jobs() if jobs is None else jobs
        self._has_registry = jobs is not None
        self._started: set[str] = set()
        """Types that were started by this client, and looked up in the registry."""

    def chain(self, record: ChainRecord, *, deduplicated: bool = False) -> Chain[Any]:
        return Chain(record, self.jobs, deduplicated=deduplicated)

    def job(self, record: Record) -> Job:
        return Job(record, self.jobs)

    def start(self, bounds: Sequence[Bound[Any]], trace: str | None) -> Procedure[list[Chain[Any]]]:
        new = tuple(new_chain(with_start_options(bound, {}), trace) for bound in bounds)
        check_batch(new)
        started = yield Start(new)
        jobs = self.jobs
        if self._has_registry:
            for bound in bounds:
                if bound.type.name not in self._started:
                    self._warn_if_unregistered(bound.type.name)
        return [Chain(chain, jobs, deduplicated=deduplicated) for chain, deduplicated in started]

    def run(
        self,
        bound: Bound[Any],
        trace: str | None,
        observers: Observers,
        subscription: ChainSubscription,
        timeout: float | None,
    ) -> WaitProcedure:
        """Start a chain and wait for its output. The subscription must be for the id of the new chain."""
        (chain,) = yield from self.start([bound], trace)
        observers.deliver(created(observers, [chain]))
        subscription.follow(chain.id)
        # A new chain had not ended when the subscription began: the first read can wait for a wake-up.
        return (yield from subscription.wait(self.jobs, timeout, look=chain.deduplicated))

    def _warn_if_unregistered(self, name: str) -> None:
        """Warn once per type if the registry does not contain it: no worker with this registry runs the job."""
        self._started.add(name)
        if name not in self.jobs:
            log.warning(
                "job type %r was started, and is not in the registry of this client: workers with this registry "
                "leave it alone; is a jobs.include(...) missing?",
                name,
            )

    def get(self, chain_id: str) -> Procedure[Chain[Any] | None]:
        (record,) = yield GetChains((chain_id,))
        return None if record is None else self.chain(record)

    def get_job(self, job_id: str) -> Procedure[Job | None]:
        (record,) = yield GetJobs((job_id,))
        return None if record is None else self.job(record)

    def list_chains(self, listing_filter: Filter, cursor: str | None, limit: int) -> Procedure[Page[Chain[Any]]]:
        found: Page[ChainRecord] = yield from page(listing_filter, cursor, limit, may_lag=True)
        return Page([self.chain(record) for record in found.items], found.next_cursor)

    def list_jobs(self, listing_filter: Filter, cursor: str | None, limit: int) -> Procedure[Page[Job]]:
        _check_limit(limit)
        records: list[Record] = yield ListJobs(listing_filter, limit + 1, _before(cursor), may_lag=True)
        more = str(records[limit - 1].seq) if len(records) > limit else None
        return Page([self.job(record) for record in records[:limit]], more)

    def report(self, job_id: str) -> Procedure[Report | None]:
        history = yield GetHistory(job_id, may_lag=True)
        if history is None:
            return None
        record, past = history
        attempts = [
            AttemptReport(
                attempt.number,
                attempt.worker,
                moment(attempt.started_at),
                moment(attempt.ended_at),
                attempt.outcome,
                read_error(attempt.error),
                moment(attempt.next_at),
            )
            for attempt in past
        ]
        # A first attempt that runs or has completed has no history row: its data is in the row of the job.
        current = record.status is Status.RUNNING or (record.status is Status.COMPLETED and record.worker is not None)
        if current:
            begun, ended = moment(record.started_at), moment(record.finished_at)
            attempts.append(AttemptReport(record.attempt, record.worker, begun, ended, str(record.status), None))
        return Report(self.job(record), attempts)

    def cancel(self, chain_id: str, reason: str) -> Procedure[tuple[Chain[Any], bool]]:
        """The chain after the operation, and whether this call cancelled it."""
        (before,) = yield GetChains((chain_id,))
        (record,) = yield Cancel((chain_id,), write_error("Cancelled", reason))
        was_open = before is not None and not before.last.status.finished
        return self.chain(record), was_open and record.last.status is Status.CANCELLED

    def retry(self, subject: Job | Chain[Any] | str) -> Procedure[Job]:
        job_id = yield from self._current(subject)
        (record,) = yield RetryJobs((job_id,))
        return self.job(record)

    def run_now(self, subject: Job | Chain[Any] | str) -> Procedure[Job]:
        job_id = yield from self._current(subject)
        (record,) = yield RunNow((job_id,))
        return self.job(record)

    def delete(self, chains: Iterable[Chain[Any] | str], cascade: bool) -> Procedure[list[str]]:
        if isinstance(chains, str):
            chains = [chains]
        deleted: list[str] = yield Delete(tuple(chain_id(chain) for chain in chains), cascade)
        return deleted

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

    def _current(self, subject: Job | Chain[Any] | str) -> Procedure[str]:
        """The id of the job that is meant. A chain's id, which is that of its first job, stands for the current job."""
        if isinstance(subject, Job):
            return subject.id
        identifier = subject.id if isinstance(subject, Chain) else job_id(subject)
        (chain,) = yield GetChains((identifier,))
        return identifier if chain is None else chain.last.id


def page(
    listing_filter: Filter, cursor: str | None, limit: int, *, may_lag: bool = False
) -> Procedure[Page[ChainRecord]]:
    """A page of the chains that a filter shows, newest first, as they are stored."""
    _check_limit(limit)
    records: list[ChainRecord] = yield ListChains(listing_filter, limit + 1, _before(cursor), may_lag=may_lag)
    more = str(records[limit - 1].first.seq) if len(records) > limit else None
    return Page(records[:limit], more)


def refuse_start_options(options: Mapping[str, object]) -> None:
    """TypeError for start options given to `run`: its timeout is the caller's and not the attempt's."""
    if options:
        given = ", ".join(f"{name}=..." for name in options)
        raise TypeError(f"run takes only timeout, how long the caller waits; say bind(...).options({given})")


def wait_seconds(timeout: Seconds | None) -> float | None:
    """The timeout of a wait in seconds; None waits forever."""
    check_duration("timeout", timeout, zero=True)
    return None if timeout is None else seconds(timeout)


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= 1000:
        raise ValueError(f"limit must lie between 1 and 1000, not {limit}")


def _before(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 20 and int(cursor) < 2**63):
        raise ValueError(f"{cursor!r:.40} is no cursor: pass the next_cursor of an earlier page")
    return int(cursor)


def created(observers: Observers, chains: Iterable[Chain[Any]]) -> list[Event]:
    """The events of chains that were created, without deduplicated ones."""
    if not observers.wants("created"):
        return []
    return [event_about("created", chain.record.first) for chain in chains if not chain.deduplicated]


def cancelled(observers: Observers, answer: tuple[Chain[Any], bool]) -> list[Event]:
    chain, changed = answer
    return [event_about("cancelled", chain.record.last)] if changed and observers.wants("cancelled") else []


def retried(observers: Observers, job: Job) -> list[Event]:
    return [event_about("retried", job.record)] if observers.wants("retried") else []


def hurried(observers: Observers, job: Job) -> list[Event]:
    return [event_about("hurried", job.record)] if observers.wants("hurried") else []


def deleted(observers: Observers, chain_ids: Iterable[str]) -> list[Event]:
    return [event_about("deleted", chain_id=each) for each in chain_ids] if observers.wants("deleted") else []


def no_trace() -> None:
    return None
