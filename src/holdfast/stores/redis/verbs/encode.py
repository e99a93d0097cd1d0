"""How operations travel to the scripts: msgpack arrays, with the payloads beside them as they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.engine.operations import Filter
from holdfast.stores.redis.verbs.decode import LETTERS, Number, encode

EXACT = 2**53
"""Lua's numbers hold whole numbers up to here. Greater ones travel as text."""


def number(value: int | None) -> Number | None:
    """A whole number for Lua."""
    return value if value is None or -EXACT < value < EXACT else str(value)


class Payloads(list[bytes]):
    """Bytes that travel beside an operation: the msgpack of the scripts knows only text."""

    def add(self, payload: bytes | None) -> int | None:
        """Have a payload travel; answers its number."""
        if payload is None:
            return None
        self.append(payload)
        return len(self)


def new_job(job: NewJob, payloads: Payloads, *, by: str | None = None) -> tuple[Any, ...]:
    """A job to be created, in the order of `scripts/shared/create.lua`; `by` is the request that starts it."""
    first = len(payloads) + 1
    rest = _rest(job)
    payloads.append(rest if by is None or not job.chosen else rest[:-1] + encode(by[:_TOLD_APART]))
    payloads.append(job.input)
    if job.index == 0 and job.key is None and not (job.after or job.priority or job.delay) and job.at is None:
        return job.id, job.type, first
    return (
        job.id,
        job.type,
        first,
        number(job.priority),
        number(job.delay),
        number(job.at),
        None if job.chain_id == job.id else job.chain_id,
        job.key,
        job.dedup,
        number(job.window),
        job.exclude or None,
        job.after or None,
        _unless_waiting(job.on_blocker_failure),
    )


def _rest(job: NewJob) -> bytes:
    """What of a new job's row is known before it is made: all of `State` from `type` on, one value after another."""
    return _written_rest(
        job.type,
        None if job.chain_id == job.id else job.chain_id,
        job.index,
        job.priority,
        job.max_attempts,
        job.key,
        job.timeout,
        job.keep,
        job.trace,
        len(job.after),
        job.on_blocker_failure,
    )


# Jobs that are started together mostly differ in their inputs alone.
@lru_cache(maxsize=256)
def _written_rest(
    type: str,
    chain: str | None,
    index: int,
    priority: int,
    max_attempts: int | None,
    key: str | None,
    timeout: int | None,
    keep: int | None,
    trace: str | None,
    blockers: int,
    on_blocker_failure: str,
) -> bytes:
    held = (0, number(max_attempts), key, *_NOBODY)
    kept = (number(timeout), number(keep), trace, blockers)
    # The last is who started it: nobody in particular, unless `new_job` says otherwise.
    values = (type, chain, index, number(priority), *held, *kept, _unless_waiting(on_blocker_failure), None)
    return encode(values)[_HEADED:]


_NOBODY = (None,) * 8
"""From `worker` to `finished_at`: nobody has held it."""
_TOLD_APART = 12
"""Characters that tell the requests of one id apart within a minute; rows are better short."""
_HEADED = 3
"""Bytes that say how many values follow, where they are more than fifteen."""


def _unless_waiting(on_blocker_failure: str) -> str | None:
    return None if on_blocker_failure == "wait" else on_blocker_failure


def settlement(each: Settlement, payloads: Payloads) -> tuple[Any, ...]:
    """A settlement, in the order of `scripts/settle.lua`."""
    output, error = payloads.add(each.output), payloads.add(each.error)
    begun = (*each.claim, LETTERS[each.status], each.outcome, output, error)
    plain = not (each.delay or each.starts) and each.at is None and each.keep is None and each.continuation is None
    if plain:
        return begun
    return (
        *begun,
        number(each.delay),
        number(each.at),
        number(each.keep),
        None if each.continuation is None else new_job(each.continuation, payloads),
        [new_job(job, payloads) for job in each.starts] or None,
        each.expected or None,
    )


def filter_(wanted: Filter) -> tuple[Any, ...]:
    """A filter, in the order of `scripts/shared/listing.lua`."""
    return (
        [LETTERS[status] for status in wanted.statuses],
        bool(wanted.scheduled),
        wanted.types,
        wanted.chain_id,
        wanted.key,
        number(wanted.since),
        number(wanted.until),
        wanted.kept,
        wanted.failing,
    )
