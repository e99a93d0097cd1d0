"""Start chains, and see beforehand what a start would find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from holdfast import operations as ops
from holdfast.errors import HoldfastError
from holdfast.ids import new_token
from holdfast.lifecycle import NewJob, create
from holdfast.operations import Started
from holdfast.record import ChainRecord, Status
from holdfast.stores.redis import requests
from holdfast.stores.redis.answers import accepted
from holdfast.stores.redis.call import PIPELINED, STEP, Asking, Call, steps
from holdfast.stores.redis.releasing import release
from holdfast.stores.redis.requests import Payloads
from holdfast.stores.redis.wire import Answer


def start(op: ops.Start) -> Asking[list[Started]]:
    """In steps of a hundred. Steps that cannot be refused travel together."""
    started: list[Started] = []
    pieces = list(steps(op.jobs))
    together = PIPELINED if len(pieces) > 1 and not any(job.after for job in op.jobs) else 1
    for burst in steps(pieces, together):
        more = False
        try:
            for jobs, reply in zip(burst, (yield (_creating("start", jobs) for jobs in burst)), strict=True):
                answer = accepted(reply)
                more = answer.next() == b"more" or more
                started += _started(jobs, answer)
        except HoldfastError as error:
            if len(pieces) > 1:
                done = f"chains up to number {len(started)} of {len(op.jobs)} were started before this"
                error.add_note(f"{done}; sending the same start again is safe")
            raise
        if more:
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
    body = [requests.new_job(job, payloads, by=request) for job in jobs]
    return Call(script, body, [job.id for job in jobs], payloads, request)


def _started(jobs: Sequence[NewJob], answer: Answer) -> list[Started]:
    now, seq = int(answer.next()), int(answer.next())
    words = list(answer)
    if not words:
        return [_made(job, now, number) for number, job in enumerate(jobs, start=seq)]
    answer = Answer(words)
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
    return started


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
