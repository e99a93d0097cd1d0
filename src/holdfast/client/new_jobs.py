"""Turns bound calls into jobs to create: the first job of a chain, or a continuation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from msgspec.structs import replace

from holdfast.core.clock import duration, to_micros
from holdfast.core.ids import new_id
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import FOR_EVER, Record
from holdfast.core.retry import seconds
from holdfast.registry.jobs import Bound, JobType
from holdfast.registry.options import START_KEYWORDS, ContinueKeywords, StartKeywords, StartOptions, refuse_unknown

T = TypeVar("T")

_NO_OPTIONS = StartOptions()


def new_chain(bound: Bound[Any], trace: str | None = None) -> NewJob:
    """The first job of a new chain."""
    options = bound.start_options
    job_id = options.id or new_id()
    return _new_job(bound, options, job_id=job_id, chain_id=job_id, index=0, trace=trace)


def continuation(bound: Bound[Any], after: Record) -> NewJob:
    """The job that follows `after` in its chain."""
    options = bound.start_options
    for option, given in (("key", options.key), ("id", options.id)):
        if given is not None:
            raise ValueError(
                f"{bound.type.name}: a continuation takes no {option}: it names a chain, and this has begun"
            )
    return _new_job(bound, options, job_id=new_id(), chain_id=after.chain_id, index=after.index + 1, trace=after.trace)


def _new_job(
    bound: Bound[Any], options: StartOptions, *, job_id: str, chain_id: str, index: int, trace: str | None
) -> NewJob:
    declared = bound.type
    limit = options.max_attempts
    if limit is None and declared.retry is not None:
        limit = declared.retry.max_attempts or FOR_EVER
    job = NewJob(
        job_id,
        declared.name,
        chain_id,
        bound.input,
        index=index,
        priority=declared.priority if options.priority is None else options.priority,
        max_attempts=limit,
        keep=declared.keep_micros,
        on_blocker_failure=options.on_blocker_failure or declared.on_blocker_failure,
        trace=trace,
        chosen=options.id is not None,
    )
    if options == _NO_OPTIONS:
        return job  # saves 1 microsecond per job of a bulk start
    return replace(
        job,
        delay=0 if options.delay is None else duration(seconds(options.delay)),
        at=None if options.at is None else to_micros(options.at),
        timeout=None if options.timeout is None else duration(seconds(options.timeout)),
        key=options.key,
        dedup=options.dedup,
        window=None if options.window is None else duration(seconds(options.window)),
        exclude=options.exclude,
        after=options.after,
    )


def with_start_options(bound: Bound[T], options: StartKeywords, *, call: str = "client.start") -> Bound[T]:
    """The bound call with these start options. TypeError if it is not a bound call."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "start", "started")
    if not options:
        return bound
    if unknown := options.keys() - START_KEYWORDS:
        own = ("tx",) if call == "client.start" else ()
        refuse_unknown(call, sorted(unknown), known=(*START_KEYWORDS, *own))
    return bound.options(**options)


def with_continue_options(bound: Bound[T], options: ContinueKeywords) -> Bound[T]:
    """The bound call with these options of a continuation. TypeError if it is not a bound call."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "continue with", "with_continue_options with")
    return bound.options(**options) if options else bound


def _refuse(given: Any, imperative: str, participle: str) -> NoReturn:
    if isinstance(given, JobType):
        raise TypeError(f"{given.name} is a job type; {imperative} {given.name}.bind(...)")
    raise TypeError(f"only what TYPE.bind(...) gave can be {participle}, not {type(given).__name__}")


def bound_list(bounds: Iterable[Bound[T]]) -> list[Bound[T]]:
    """The bound calls as a list. TypeError for a single bound call or a job type."""
    if isinstance(bounds, Bound | JobType):
        name = bounds.type.name if isinstance(bounds, Bound) else bounds.name
        raise TypeError(
            f"start_many takes a list of calls: start_many([{name}.bind(...), ...]), or start one by start()"
        )
    return list(bounds)


def with_id(bound: Bound[T]) -> tuple[Bound[T], str]:
    """The bound call with the id of its chain, so that a caller can subscribe to its end before it starts."""
    with_start_options(bound, {})
    chain_id = bound.start_options.id or new_id()
    return bound.options(id=chain_id), chain_id
