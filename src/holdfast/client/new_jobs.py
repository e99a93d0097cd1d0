"""Calls that were bound, as jobs to create: the first of a chain, or the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from holdfast.core.clock import duration, to_micros
from holdfast.core.ids import new_id
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import FOR_EVER, Record
from holdfast.core.retry import seconds
from holdfast.registry.jobs import Bound, JobType
from holdfast.registry.options import START_KEYWORDS, ContinueKeywords, StartKeywords, StartOptions, refuse_unknown

T = TypeVar("T")


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
    # By position, in the order of its fields: by name it takes four times as long, and a bulk start makes thousands.
    return NewJob(
        job_id,
        declared.name,
        chain_id,
        bound.input,
        index,
        declared.priority if options.priority is None else options.priority,
        0 if options.delay is None else duration(seconds(options.delay)),
        None if options.at is None else to_micros(options.at),
        limit,
        None if options.timeout is None else duration(seconds(options.timeout)),
        declared.keep_micros,
        options.key,
        options.dedup,
        None if options.window is None else duration(seconds(options.window)),
        options.exclude,
        options.after,
        options.on_blocker_failure or declared.on_blocker_failure,
        trace,
        options.id is not None,
    )


def described(bound: Bound[T], options: StartKeywords, *, call: str = "client.start") -> Bound[T]:
    """What a start was given, with its options. TypeError for a job type without arguments, or anything else."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "start", "started")
    if not options:
        return bound
    if unknown := options.keys() - START_KEYWORDS:
        own = ("tx",) if call == "client.start" else ()
        refuse_unknown(call, sorted(unknown), known=(*START_KEYWORDS, *own))
    return bound.options(**options)


def continued(bound: Bound[T], options: ContinueKeywords) -> Bound[T]:
    """What a continuation was given, with its options. TypeError as for a start."""
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        _refuse(bound, "continue with", "continued with")
    return bound.options(**options) if options else bound


def _refuse(given: Any, imperative: str, participle: str) -> NoReturn:
    if isinstance(given, JobType):
        raise TypeError(f"{given.name} is a job type; {imperative} {given.name}.bind(...)")
    raise TypeError(f"only what TYPE.bind(...) gave can be {participle}, not {type(given).__name__}")


def listed(bounds: Iterable[Bound[T]]) -> list[Bound[T]]:
    """What a start of many was given. TypeError for one call, or a job type, where there should be a list of calls."""
    if isinstance(bounds, Bound | JobType):
        name = bounds.type.name if isinstance(bounds, Bound) else bounds.name
        raise TypeError(
            f"start_many takes a list of calls: start_many([{name}.bind(...), ...]), or start one by start()"
        )
    return list(bounds)


def with_id(bound: Bound[T]) -> tuple[Bound[T], str]:
    """What shall be started, and the id of its chain, so that its end can be watched for before it begins."""
    described(bound, {})
    chain_id = bound.start_options.id or new_id()
    return bound.options(id=chain_id), chain_id
