"""Encodes operations for the scripts: msgpack arrays, with the payloads as separate arguments."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from holdfast.core.details import origin_of
from holdfast.core.error_search import ErrorSearch
from holdfast.core.lifecycle import OPTIONS, NewJob, Settlement
from holdfast.core.record import Status
from holdfast.core.steps import Wait
from holdfast.engine.operations import Filter
from holdfast.stores.redis.verbs.decode import STATUS_LETTERS, TAIL, Number
from holdfast.stores.redis.verbs.short_details import shorten

pack = msgspec.msgpack.Encoder().encode

EXACT = 2**53
"""Lua numbers are exact for integers up to here. Greater ones are sent as text."""


def number(value: int | None) -> Number | None:
    """An integer for Lua."""
    return value if value is None or -EXACT < value < EXACT else str(value)


PLAIN = 3
"""Number of values of a new job without options."""


class Payloads(list[bytes]):
    """Bytes that are sent as separate arguments: the msgpack library of the scripts supports only text."""

    def add(self, payload: bytes | None) -> int | None:
        """Add a payload. Returns its number, by which the script finds it."""
        if payload is None:
            return None
        self.append(payload)
        return len(self)


def new_job(job: NewJob, payloads: Payloads, *, by: str | None = None) -> tuple[Any, ...]:
    """A job to create, in the order of `scripts/shared/create.lua`; `by` is the request that starts it."""
    first = len(payloads) + 1
    rest, is_plain = _rest(job)
    if by is not None and job.chosen:
        rest = rest[:-1] + pack(by[:_REQUEST_CHARACTERS])
    for option in _TAIL_OPTIONS:
        if getattr(job, option) is not None:
            rest += _tail(job)
            break
    payloads.append(rest)
    payloads.append(job.input)
    if is_plain and job.track is None and job.at is None and not job.delay:
        return job.id, job.type, first
    origin = origin_of(job.details)
    if job.key is None and job.track is None and origin is None and not job.after:
        return job.id, job.type, first, number(job.priority), number(job.delay), number(job.at), _chain(job)
    return (
        job.id,
        job.type,
        first,
        number(job.priority),
        number(job.delay),
        number(job.at),
        _chain(job),
        job.key,
        job.dedup,
        number(job.window),
        job.exclude or None,
        job.after or None,
        _unless_waiting(job.on_blocker_failure),
        True if job.track is not None else None,
        job.blocker_types or None,
        number(job.due_within),
        origin,
    )


@lru_cache(maxsize=256)
def due_hint(type: str) -> bytes:
    """The wake-up for a due job of a type, as `scripts/shared/hints.lua` publishes it."""
    return pack({"due": [type]})


def _rest(job: NewJob) -> tuple[bytes, bool]:
    """The part of a new job's state that the caller knows: the values of `StoredState` from `type` to `by`.

    Also whether the job may be one without options: it is the first of its chain, and has no priority, key or blocker.
    """
    type, rest, is_plain = _packed_rest(
        job.type,
        job.index,
        job.priority,
        job.max_attempts,
        job.key,
        job.timeout,
        job.keep,
        job.details,
        len(job.after),
        job.on_blocker_failure,
    )
    return type + (_NIL if job.chain_id == job.id else pack(job.chain_id)) + rest, is_plain


def _chain(job: NewJob) -> str | None:
    """The first job of a chain stores no chain id."""
    return None if job.chain_id == job.id else job.chain_id


def _tail(job: NewJob) -> bytes:
    """The last values of a state. Those that are no options are None in a new job."""
    return b"".join(pack(number(getattr(job, name)) if name in OPTIONS else None) for name in TAIL)


# Cached: jobs usually differ only in their inputs, and continuations in their chains.
@lru_cache(maxsize=256)
def _packed_rest(
    type: str,
    index: int,
    priority: int,
    max_attempts: int | None,
    key: str | None,
    timeout: int | None,
    keep: int | None,
    details: str | None,
    blockers: int,
    on_blocker_failure: str,
) -> tuple[bytes, bytes, bool]:
    held = (0, number(max_attempts), key, *_UNCLAIMED)
    kept = (number(timeout), number(keep), shorten(details, type, priority), blockers)
    # The last value is `by`; `new_job` replaces it for an id that the application chose.
    values = (index, number(priority), *held, *kept, _unless_waiting(on_blocker_failure), None)
    is_plain = key is None and origin_of(details) is None and not (index or priority or blockers)
    return pack(type), pack(values)[_HEADER_BYTES:], is_plain


_NIL = pack(None)
_UNCLAIMED = (None,) * 8
"""The values from `worker` to `finished_at` of a job that was never claimed."""
_TAIL_OPTIONS = [name for name in TAIL if name in OPTIONS]
_REQUEST_CHARACTERS = 12
"""Length of `by`: enough to distinguish the requests with one id within a minute, and short, to keep rows small."""
_HEADER_BYTES = 3
"""Length of the msgpack header of an array of more than fifteen values."""


def _unless_waiting(on_blocker_failure: str) -> str | None:
    return None if on_blocker_failure == "wait" else on_blocker_failure


def settlement(each: Settlement, payloads: Payloads) -> tuple[Any, ...]:
    """A settlement, in the order of `scripts/settle.lua`."""
    output = payloads.add(each.output)
    error = None if each.error is None else payloads.add(each.error)
    begun = (*each.claim, STATUS_LETTERS[each.status], each.outcome, output, error)
    ahead = number(each.ahead) if each.ahead else None
    next_job = None if each.continuation is None else new_job(each.continuation, payloads)
    if not (each.starts or each.failure or each.begun or each.waits):
        # Without trailing nils: they would double the time in which the script decodes a settlement.
        if next_job is not None or each.delay or each.at is not None or each.keep is not None:
            return *begun, number(each.delay), number(each.at), number(each.keep), ahead, next_job
        return begun if ahead is None else (*begun, None, None, None, ahead)
    return (
        *begun,
        number(each.delay),
        number(each.at),
        number(each.keep),
        ahead,
        next_job,
        [new_job(job, payloads) for job in each.starts] or None,
        each.expected or None,
        *(each.failure or (None, None)),
        each.begun or None,
        [_wait(wait) for wait in each.waits] or None,
    )


def _wait(each: Wait) -> tuple[Any, ...]:
    """What a suspended job waits for, in the order of `scripts/shared/suspension.lua`."""
    ends = number(each.delay), number(each.at)
    return each.name, each.each, each.kind, each.number, each.attempt, each.epoch, *ends


def filter_(wanted: Filter) -> tuple[Any, ...]:
    """A filter, in the order of `scripts/shared/listing.lua`."""
    search = None if wanted.error is None else ErrorSearch.of(wanted.error)
    return (
        [STATUS_LETTERS[status] for status in _statuses(wanted)],
        bool(wanted.scheduled),
        wanted.types,
        wanted.chain_id,
        wanted.key,
        number(wanted.created_since),
        number(wanted.created_until),
        wanted.kept,
        wanted.failing,
        wanted.chain_types,
        number(wanted.failed_since),
        number(wanted.finished_since),
        wanted.worker,
        search,
        wanted.fingerprint,
    )


def _statuses(wanted: Filter) -> tuple[Status, ...]:
    """With the only status of jobs that match `failed_since`: an index finds them."""
    return (Status.FAILED,) if wanted.failed_since is not None and not wanted.statuses else wanted.statuses
