"""Turns bound calls into jobs to create: the first job of a chain, or a continuation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from msgspec.structs import replace

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.clock import duration, to_micros
from holdfast.core.details import NO_DETAILS, JobDetails, inherited_details, write_details
from holdfast.core.ids import new_id, new_id_on
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record
from holdfast.core.retry import seconds
from holdfast.engine.store import Store
from holdfast.registry.bound import AS_DECLARED
from holdfast.registry.jobs import AnyBound, AnyJobType, Bound, JobType
from holdfast.registry.options import START_KEYWORDS, ContinueKeywords, StartKeywords, StartOptions, refuse_unknown

T = TypeVar("T")


def new_chain(bound: AnyBound, sent: JobDetails = NO_DETAILS) -> NewJob:
    """The first job of a new chain. `sent` are the details that the caller stores with the job."""
    options = bound.start_options
    if options is AS_DECLARED and sent is NO_DETAILS and (plain := bound.type.plain_job) is not None:
        job_id = new_id()
        return replace(plain, id=job_id, chain_id=job_id, input=bound.input)
    job_id = options.id or (new_id() if sent.shard is None else new_id_on(sent.shard))
    return _new_job(bound, options, job_id=job_id, chain_id=job_id, index=0, sent=sent)


def continuation(bound: AnyBound, after: Record) -> NewJob:
    """The job that follows `after` in its chain."""
    options = bound.start_options
    for option, given in (("key", options.key), ("id", options.id), ("shard", options.shard)):
        if given is not None:
            raise ValueError(
                f"{bound.type.name}: a continuation takes no {option}: only a start does, and the chain has started"
            )
    sent = inherited_details(after.details)
    job_id = new_id_on(sent.shard)
    return _new_job(bound, options, job_id=job_id, chain_id=after.chain_id, index=after.index + 1, sent=sent)


def _new_job(
    bound: AnyBound, options: StartOptions, *, job_id: str, chain_id: str, index: int, sent: JobDetails
) -> NewJob:
    declared, hook = bound.type, bound.type.failure_hook
    blocker_types = () if declared.blockers is None else declared.blockers.types_of(declared.name, options.after)
    limit = declared.attempt_limit if options.max_attempts is None else options.max_attempts
    priority = declared.priority if options.priority is None else options.priority
    track: str | None = None
    if bound.lanes:
        lanes = declared.job_lanes(bound.lanes, priority)
        sent, track = replace(sent, lanes=lanes), lanes.track
    if hook is not None:
        sent = replace(sent, on_failure=hook)
    job = NewJob(
        job_id,
        declared.name,
        chain_id,
        bound.input,
        index=index,
        priority=priority,
        max_attempts=limit,
        keep=declared.keep_micros,
        on_blocker_failure=declared.on_blocker_failure if options is AS_DECLARED else _rule(options, declared),
        details=None if sent is NO_DETAILS else write_details(sent),
        chosen=options.id is not None,
        track=track,
    )
    if options is AS_DECLARED:
        return job
    if options.shard is not None and options.shard != sent.shard:
        raise ValueError(_wrong_shard(declared.name, options.shard, sent.shard))
    return _with_options(job, options, blocker_types)


def _with_options(job: NewJob, options: StartOptions, blocker_types: tuple[str, ...]) -> NewJob:
    """The job with the options that its type does not declare: when it is due, its key and its blockers."""
    if options.collapses:
        job = _collapsing(job, options)
    return replace(
        job,
        delay=job.delay if options.delay is None else duration(seconds(options.delay)),
        at=None if options.at is None else to_micros(options.at),
        timeout=None if options.timeout is None else duration(seconds(options.timeout)),
        key=options.key,
        dedup="waiting" if options.collapses else options.dedup,
        window=None if options.window is None else duration(seconds(options.window)),
        exclude=options.exclude,
        after=options.after,
        blocker_types=blocker_types,
    )


def _collapsing(job: NewJob, options: StartOptions) -> NewJob:
    """The job of a start with `replace` or `debounce`: when it is due."""
    if options.debounce is None:
        return job
    delay, longest = duration(seconds(options.debounce)), None
    if options.debounce_max is not None:
        longest = duration(seconds(options.debounce_max))
        delay = min(delay, longest)
    return replace(job, delay=delay, due_within=longest)


def _wrong_shard(type: str, wanted: str, given: str | None) -> str:
    if given is None:
        return (
            f"{type}: shard={wanted!r} needs a client with several stores: Client({{{wanted!r}: ADDRESS, ...}}, jobs)"
        )
    return f"{type}: shard={wanted!r}, but what a chain starts stays on the shard of the chain, which is {given!r}"


def _rule(options: StartOptions, declared: AnyJobType) -> str:
    """What the job waits for, and what happens to it if a blocker fails."""
    if options.when in (None, "completed"):
        return options.on_blocker_failure or declared.on_blocker_failure
    if not options.after:
        raise ValueError(f'{declared.name}: when="{options.when}" needs after=, the chains to wait for')
    return WHEN_FAILED if options.when == "failed" else WHEN_ENDED


def with_start_options(bound: Bound[T, Any], options: StartKeywords, *, call: str = "client.start") -> Bound[T]:
    """The bound call with these start options. TypeError if it is not a bound call."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "start", "started")
    if not options:
        return bound
    if unknown := options.keys() - START_KEYWORDS:
        own = ("tx",) if call == "client.start" else ()
        refuse_unknown(call, sorted(unknown), known=(*START_KEYWORDS, *own))
    return bound.options(**options)


def with_continue_options(bound: Bound[T, Any], options: ContinueKeywords) -> Bound[T]:
    """The bound call with these options of a continuation. TypeError if it is not a bound call."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "continue with", "continued with")
    return bound.options(**options) if options else bound


def _refuse(given: Any, imperative: str, participle: str) -> NoReturn:
    if isinstance(given, JobType):
        raise TypeError(f"{given.name} is a job type; {imperative} {given.name}.bind(...)")
    raise TypeError(f"only the result of TYPE.bind(...) can be {participle}, not {type(given).__name__}")


def bound_list(bounds: Iterable[Bound[T]]) -> list[Bound[T]]:
    """The bound calls as a list. TypeError for a single bound call, and for anything other than bound calls."""
    if isinstance(bounds, Bound | JobType):
        name = bounds.type.name if isinstance(bounds, Bound) else bounds.name
        raise TypeError(
            f"start_many takes a list of calls: start_many([{name}.bind(...), ...]), or start one by start()"
        )
    given = list(bounds)
    for bound in given:
        if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            _refuse(bound, "start", "started")
    return given


def with_id(bound: Bound[T], store: Store) -> tuple[Bound[T], str]:
    """The bound call with the id of its chain, so that a caller can subscribe to its end before it starts.

    A sharded store chooses the id when the chain starts: until then it is empty.
    """
    with_start_options(bound, {})
    if store.sharded:
        return bound, bound.start_options.id or ""
    chain_id = bound.start_options.id or new_id()
    return bound.options(id=chain_id), chain_id
