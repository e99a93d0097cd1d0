"""The procedures behind the methods of `Queue` and `SyncQueue`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from msgspec.structs import replace

from holdfast.client import plugged_starts
from holdfast.client.new_jobs import new_chain
from holdfast.client.waiting import ChainSubscription, WaitProcedure
from holdfast.core.clock import duration
from holdfast.core.details import JobDetails
from holdfast.core.failure import read_error
from holdfast.core.failure import write as write_error
from holdfast.core.ids import new_token
from holdfast.core.job import Page
from holdfast.core.lifecycle import NewJob
from holdfast.core.permanent_failure import has_attempts_left
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.audit_user import audit_of
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about
from holdfast.engine.operations import CancelChains, Filter, Keep, ListChains, Pause, Place, Resume
from holdfast.engine.procedures import Procedure
from holdfast.errors import AttemptsExhausted, ChainNotFound, JobCancelled, JobFailed, JobNotFound, WaitTimeout
from holdfast.queue import blockers, overview
from holdfast.queue.answers import Answers, Cancelling, JobStatus, QueueCounts, State, Updating, enqueue_answer
from holdfast.queue.blockers import Blockers
from holdfast.queue.options import ENQUEUE_KEYWORDS, EnqueueKeywords
from holdfast.queue.queue_type import QueueType
from holdfast.registry.bound import Bound
from holdfast.registry.jobs import Jobs
from holdfast.registry.limits import QueuePayload
from holdfast.registry.options import StartOptions, check_duration, check_text, refuse_unknown

_UNKNOWN = ("",)
"""Stands for the blockers of a job, which are read from the store before the start."""


class Enqueued(NamedTuple):
    """A job that was enqueued, or found under its id."""

    chain: ChainRecord
    found: bool
    has_result: bool
    """Whether it is completed, and its result is kept."""


class QueueCalls:
    """Builds the procedure of each call, and translates the answers of the store."""

    def __init__(
        self,
        type: QueueType,
        jobs: Jobs,
        observers: Observers,
        trace: Callable[[], str | None],
        *,
        sharded: bool = False,
    ) -> None:
        self._type = type
        self._sharded = sharded
        self._jobs = jobs
        self._observers = observers
        self._trace = trace

    def new_jobs(self, items: Iterable[tuple[str, Any]], options: EnqueueKeywords) -> list[NewJob]:
        """The jobs to create under these ids, unless they exist."""
        if unknown := options.keys() - ENQUEUE_KEYWORDS:
            refuse_unknown("enqueue", sorted(unknown), known=ENQUEUE_KEYWORDS)
        result_ttl, dedup_ttl = options.get("result_ttl"), options.get("dedup_ttl")
        check_duration("result_ttl", result_ttl)
        check_duration("dedup_ttl", dedup_ttl, zero=True)
        if dedup_ttl is None:
            dedup_ttl = self._type.dedup_ttl
        terms = StartOptions(
            key="id",  # replaced by the id of each job
            replace=options.get("replace") or False,
            debounce=options.get("debounce"),
            debounce_max=options.get("debounce_max"),
            delay=options.get("delay"),
            priority=options.get("priority"),
            max_attempts=options.get("max_attempts"),
            on_blocker_failure=options.get("on_blocker_failure"),
            when=options.get("when"),
            after=_UNKNOWN if options.get("after") else (),
        )
        # A job that is replaced must not have begun, so completed ones do not count.
        changes: dict[str, Any] = {} if terms.collapses else {"dedup": "successful"}
        if result_ttl is not None:
            changes["keep"] = duration(seconds(result_ttl))
        if dedup_ttl is not None:
            changes["dedup_for"] = duration(seconds(dedup_ttl))
        return [replace(self._new_job(id, payload, terms), **changes) for id, payload in items]

    def enqueue(self, jobs: Sequence[NewJob], after: Blockers = ()) -> Procedure[list[Enqueued]]:
        """Start the jobs, each after these blockers."""
        if after or any(job.after for job in jobs):
            jobs = yield from blockers.waiting(self._type.name, jobs, after)
        if self._sharded:
            jobs = yield Place(tuple(jobs))
        started = yield from plugged_starts.start(self._jobs, tuple(jobs))
        enqueued: list[Enqueued] = []
        for chain, found in started:
            has_result = (yield from self._has_result(chain)) if found else False
            enqueued.append(Enqueued(chain, found, has_result))
        return enqueued

    def answers(self, enqueued: Sequence[Enqueued]) -> Answers[Any]:
        """The answers for jobs that were started or found."""
        return [
            enqueue_answer(each.chain.last, found=each.found, has_result=each.has_result, result=self._result)
            for each in enqueued
        ]

    def enqueue_and_wait(
        self, id: str, payload: Any, options: EnqueueKeywords, limit: Seconds | None
    ) -> tuple[str, Callable[[ChainSubscription], WaitProcedure]]:
        """Enqueue, and wait until the job is finished. The result is that of the job, or its error is raised.

        Returns the id of the chain and the procedure, for `waiting.run`.
        """
        timeout, after = None if limit is None else seconds(limit), blockers.listed(options.get("after", ()))
        (job,) = self.new_jobs([(id, payload)], options)

        def enqueue_and_wait(subscription: ChainSubscription) -> WaitProcedure:
            begun = monotonic()
            ((chain, found, has_result),) = enqueued = yield from self.enqueue([job], after)
            self._observers.deliver(created(self._observers, enqueued))
            if found and chain.last.status is Status.COMPLETED and not has_result:
                raise JobNotFound(job.key or job.id)
            if not chain.last.status.finished:
                left = None if timeout is None else timeout - (monotonic() - begun)
                try:
                    known_later = found or chain.first.id != job.id
                    chain = yield from subscription.finished_after_start(chain.first.id, left, known_later=known_later)
                except WaitTimeout:
                    raise WaitTimeout(job.key or job.id, timeout or 0, subject="job") from None
                except ChainNotFound:
                    raise JobNotFound(job.key or job.id) from None
            return self._outcome(chain.last)

        return job.id, enqueue_and_wait

    def cancel(self, id: str) -> Procedure[Cancelling]:
        """If several callers cancel one job, exactly one gets "cancelled"."""
        chain = yield from self._newest(id)
        if chain is None or chain.last.status is Status.CANCELLED:
            return "not_found"
        # The reason is stored with the job. It names this call, so that one of several callers recognises its own.
        reason = write_error("Cancelled", "cancelled by a client", f"by call {new_token()}")
        if not chain.last.status.finished:
            try:
                (chain,) = yield CancelChains((chain.first.id,), reason, spare_running=True)
            except ChainNotFound:
                return "not_found"
        match chain.last.status:
            case Status.CANCELLED if chain.last.error == reason:
                self._observers.emit("cancelled", chain.last)
                return "cancelled"
            case Status.CANCELLED:
                return "not_found"
            case Status.RUNNING:
                return "processing"
            case _:
                return "completed"

    def result(self, id: str) -> Procedure[Any]:
        chain = yield from self._newest(id)
        return None if chain is None else overview.result(self._type, chain.last)

    def status(self, id: str) -> Procedure[JobStatus[Any] | None]:
        chain = yield from self._newest(id)
        if chain is None:
            return None
        return (yield from overview.status(self._type, chain.last))

    def list_jobs(self, state: State | None, cursor: str | None, limit: int) -> Procedure[Page[JobStatus[Any]]]:
        return overview.list_jobs(self._type, state, cursor, limit, sharded=self._sharded)

    def counts(self) -> Procedure[QueueCounts]:
        return overview.counts(self._type)

    def pause(self, reason: str | None) -> Procedure[None]:
        yield Pause((self._type.name,), audit=audit_of(None, reason))

    def resume(self, reason: str | None) -> Procedure[None]:
        yield Resume((self._type.name,), audit=audit_of(None, reason))

    def update_result_ttl(self, id: str, result_ttl: Seconds) -> Procedure[Updating]:
        if result_ttl is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise TypeError("result_ttl must be seconds or a timedelta, not None")
        check_duration("result_ttl", result_ttl)
        chain = yield from self._newest(id)
        if chain is None or chain.last.status is Status.CANCELLED:
            return "not_found"
        if chain.last.status is Status.COMPLETED and chain.last.output is None:
            return "missing_payload"
        (kept,) = yield Keep((chain.first.id,), duration(seconds(result_ttl)))
        if kept is None:
            return "not_found"
        return "updated" if kept else "not_terminal"

    def _new_job(self, id: str, payload: Any, terms: StartOptions) -> NewJob:
        _check_id(id)
        lanes = self._type.lanes_of(QueuePayload(payload)) if self._type.limits else ()
        bound: Bound[Any] = Bound(self._type, self._type.encode_payload(payload, id), replace(terms, key=id), lanes)
        return new_chain(bound, JobDetails(trace=self._trace()))

    def _newest(self, id: str) -> Procedure[ChainRecord | None]:
        _check_id(id)
        chains: list[ChainRecord] = yield ListChains(Filter(chain_types=(self._type.name,), key=id, kept=True), 1)
        return chains[0] if chains else None

    def _has_result(self, chain: ChainRecord) -> Procedure[bool]:
        """Whether a job is completed and its result is kept. Only a job with a `dedup_ttl` can lose its result."""
        if chain.last.status is not Status.COMPLETED or chain.first.dedup_for is None or chain.first.key is None:
            return chain.last.status is Status.COMPLETED
        kept = yield from self._newest(chain.first.key)
        return kept is not None and kept.first.id == chain.first.id

    def _result(self, job: Record) -> Any:
        return overview.result(self._type, job)

    def _outcome(self, job: Record) -> Any:
        id = job.key or job.id
        match job.status:
            case Status.COMPLETED:
                return self._result(job)
            case Status.CANCELLED:
                raise JobCancelled(id, read_error(job.error))
            case _:
                error = JobFailed if has_attempts_left(job) else AttemptsExhausted
                payload = self._type.payload_of(job)
                raise error(id, read_error(job.error), payload=payload, attempts=job.attempt)


def created(observers: Observers, enqueued: Sequence[Enqueued]) -> list[Event]:
    """The events of the jobs that are new."""
    if not observers.wants("created"):
        return []
    return [event_about("created", each.chain.first) for each in enqueued if not each.found]


def _check_id(id: str) -> None:
    if id is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise TypeError("id must be a str, not None")
    check_text("id", id)
