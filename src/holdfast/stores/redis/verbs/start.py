"""Start chains, and see beforehand what a start would find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import ChainRecord, Status
from holdfast.engine import operations as ops
from holdfast.engine.operations import Started
from holdfast.errors import HoldfastError
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import Answer
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import PIPELINED, STEP, Asking, Call, steps
from holdfast.stores.redis.verbs.script_errors import accepted, refusal

_PLAIN = 4
"""Values in the answer to a start that made all of its jobs, and none of them waits."""


def start(op: ops.Start) -> Asking[list[Started]]:
    """In steps of a hundred. Steps that cannot be refused travel together."""
    if len(op.jobs) > STEP:
        return (yield from _start_in_steps(op.jobs))
    if not op.jobs:
        return []
    (reply,) = yield (_creating("start", op.jobs),)
    started, more = _started(op.jobs, reply)
    if more:
        yield from release()
    return started


def _start_in_steps(jobs: Sequence[NewJob]) -> Asking[list[Started]]:
    started: list[Started] = []
    together = 1 if any(job.after for job in jobs) else PIPELINED
    for burst in steps(list(steps(jobs)), together):
        any_more = False
        try:
            for step, reply in zip(burst, (yield (_creating("start", step) for step in burst)), strict=True):
                made, more = _started(step, reply)
                any_more = more or any_more
                started += made
        except HoldfastError as error:
            # Of a burst that went unanswered some may be made as well.
            done = f"at least {len(started)} of {len(jobs)} chains were started before this"
            error.add_note(f"{done}; where each was given an id, starting all of them again makes none twice")
            raise
        if any_more:
            yield from release()
    return started


def preview(op: ops.Preview) -> Asking[list[ChainRecord | None]]:
    """In steps; each is told of those earlier ones that would be made and may be what it finds."""
    found: list[ChainRecord | None] = []
    planned: dict[object, dict[str, NewJob]] = defaultdict(dict)
    for jobs in steps(op.jobs, STEP // 2):
        earlier: dict[str, NewJob] = {}
        for job in jobs:
            for name in _names(job):
                earlier |= planned[name]
        asked = [*earlier.values(), *jobs]
        (reply,) = yield [_creating("preview", asked)]
        chains = _previewed(asked, accepted(reply))[len(earlier) :]
        for job, chain in zip(jobs, chains, strict=True):
            for name in _names(job) if chain is None else ():
                planned[name][job.id] = job
        found += chains
    return found


def _names(job: NewJob) -> Iterator[object]:
    """What a job may be found by."""
    yield job.id
    if job.key is not None:
        yield job.type, job.key


def _creating(script: str, jobs: Sequence[NewJob]) -> Call:
    payloads, request = Payloads(), new_token()
    body = [encode.new_job(job, payloads, by=request) for job in jobs]
    return Call(script, body, [job.id for job in jobs], payloads, request)


def _started(jobs: Sequence[NewJob], reply: list[Any]) -> tuple[list[Started], bool]:
    """What became of the jobs, and whether there is more to release."""
    if reply[0] != b"ok":
        raise refusal(reply)
    more, now, seq = reply[1] == b"more", int(reply[2]), int(reply[3])
    if len(reply) == _PLAIN:
        return [_made(job, now, number) for number, job in enumerate(jobs, start=seq)], more
    answer = Answer(reply[_PLAIN:])
    started: list[Started] = []
    for job in jobs:
        match answer.next():
            case b"made":
                started.append(_made(job, now, seq, int(answer.next())))
                seq += 1
            case b"failed":
                started.append(Started(answer.chain(), deduplicated=False))
                seq += 1
            case b"gone":
                made_at, number = int(answer.next()), int(answer.next())
                started.append(_made(job, made_at, number))
            case word:
                started.append(Started(answer.chain(), deduplicated=word == b"found"))
    return started, more


def _made(job: NewJob, now: int, seq: int, open_blockers: int = 0) -> Started:
    status = Status.BLOCKED if open_blockers else Status.PENDING
    record = create(job, now, seq, status=status, open_blockers=open_blockers)
    return Started(ChainRecord(record, record), False)


def _previewed(jobs: Sequence[NewJob], answer: Answer) -> list[ChainRecord | None]:
    found: list[ChainRecord | None] = []
    for word in answer:
        if word == b"found":
            found.append(answer.chain())
        elif word == b"planned":
            record = create(jobs[int(answer.next()) - 1])
            found.append(ChainRecord(record, record))
        else:
            found.append(None)
    return found
