"""What each operation asks the server, and how its answer is read. No I/O: the store sends the calls.

A verb is a generator: it yields calls that may be sent together, is given their answers, and returns the operation's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holdfast import operations as ops
from holdfast.errors import (
    AlreadyCompleted,
    ChainNotFound,
    ClaimLost,
    Conflict,
    HoldfastError,
    JobNotFound,
    NotPending,
    StillReferenced,
)
from holdfast.ids import new_token
from holdfast.job import ChainRecord, Claim, Record
from holdfast.lifecycle import NewJob, Settlement, create
from holdfast.operations import Settled, Started, TypeStats
from holdfast.stores.redis import wire
from holdfast.stores.redis.wire import Answer, Payloads

T = TypeVar("T")

STEP = 100
"""Items in one call: a script holds up everybody else, so it is kept short."""
PIPELINED = 50
"""Calls that are on their way together."""
WINDOW = 1000
"""Rows that one call of a listing looks at."""


@dataclass(frozen=True, slots=True)
class Call:
    """A script to run. `jobs` are the ids it is known to be about; `request` stays the same when it is sent again."""

    verb: str
    body: Any = None
    jobs: Sequence[str] = ()
    payloads: Sequence[bytes] = ()
    request: str = field(default_factory=new_token)


Asking = Generator[Iterable[Call], list[Any], T]


# Creating


def start(op: ops.Start) -> Asking[list[Started]]:
    """In steps of a hundred. Steps that cannot be refused travel together."""
    started: list[Started] = []
    together = PIPELINED if all(not job.after for job in op.jobs) else 1
    for burst in _steps(list(_steps(op.jobs, STEP)), together):
        calls = (_creating("start", jobs) for jobs in burst)
        try:
            for jobs, reply in zip(burst, (yield calls), strict=True):
                started += _started(jobs, _accepted(reply))
        except HoldfastError as error:
            if len(op.jobs) > STEP:
                done = f"chains up to number {len(started)} of {len(op.jobs)} were started before this"
                error.add_note(f"{done}; sending the same start again is safe")
            raise
    return started


def _creating(verb: str, jobs: Sequence[NewJob]) -> Call:
    payloads = Payloads()
    return Call(verb, [wire.new_job(job, payloads) for job in jobs], [job.id for job in jobs], payloads)


def _started(jobs: Sequence[NewJob], answer: Answer) -> Iterator[Started]:
    for job in jobs:
        word = answer.next()
        if word != b"made":
            yield Started(answer.chain(), deduplicated=word == b"found")
        else:
            record = wire.record(job.id, answer.next(), job.input)
            yield Started(ChainRecord(record, record), deduplicated=False)


def preview(op: ops.Preview) -> Asking[list[ChainRecord | None]]:
    (reply,) = yield [_creating("preview", op.jobs)]
    answer = _accepted(reply)
    found: list[ChainRecord | None] = []
    for word in answer:
        if word == b"found":
            found.append(answer.chain())
        elif word == b"planned":
            record = create(op.jobs[int(answer.next()) - 1])
            found.append(ChainRecord(record, record))
        else:
            found.append(None)
    return found


# Holding


def claim(op: ops.ClaimJobs) -> Asking[list[Record]]:
    claimed: list[Record] = []
    terms = [(each.type, wire.number(each.lease), wire.number(each.max_attempts)) for each in op.types]
    while len(claimed) < op.limit:
        size = min(STEP, op.limit - len(claimed))
        fresh = not (op.again and claimed)
        (reply,) = yield [Call("claim", (terms, size, op.worker, op.token, len(claimed), fresh))]
        records = list(_jobs(Answer(reply)))
        claimed += records
        if len(records) < size:
            break
    return claimed


def renew(op: ops.Renew) -> Asking[dict[Claim, ops.LostReason]]:
    lost: dict[Claim, ops.LostReason] = {}
    for burst in _steps(list(_steps(op.claims, STEP)), PIPELINED):
        calls = [
            Call("renew", [(*held, wire.number(lease)) for held, lease in claims], [held.job_id for held, _ in claims])
            for claims in burst
        ]
        for claims, reply in zip(burst, (yield calls), strict=True):
            values = iter(reply)
            for place, reason in zip(values, values, strict=True):
                lost[claims[int(place) - 1][0]] = reason.decode()
    return lost


def settle(op: ops.Settle) -> Asking[list[Settled]]:
    settled: list[Settled] = []
    for burst in _steps(list(_steps(op.settlements, STEP)), PIPELINED):
        for reply in (yield (_settling(step) for step in burst)):
            settled += [_settled(each) for each in reply]
    return settled


def _settling(settlements: Sequence[Settlement]) -> Call:
    payloads = Payloads()
    body = [wire.settlement(each, payloads) for each in settlements]
    return Call("settle", body, [each.claim.job_id for each in settlements], payloads)


_WRITTEN = Settled()


def _settled(reply: Any) -> Settled:
    if reply == b"ok":
        return _WRITTEN
    word, *values = reply
    match word:
        case b"ok":
            return Settled(unblocked=_pairs(values))
        case b"lost":
            return Settled(lost=values[0].decode())
        case _:
            return Settled(refused=_refusal(reply))


def guard(op: ops.Guard) -> Asking[None]:
    (reason,) = yield [Call("guard", op.claim, [op.claim.job_id])]
    if reason is not None:
        raise ClaimLost(op.claim.job_id, reason.decode())


def progress(op: ops.ReportProgress) -> Asking[ops.LostReason | None]:
    (reason,) = yield [Call("progress", (*op.claim, repr(op.fraction), op.note), [op.claim.job_id])]
    return None if reason is None else reason.decode()


def reap(op: ops.Reap) -> Asking[list[ops.Reaped]]:
    reaped: list[ops.Reaped] = []
    while len(reaped) < op.limit:
        size = min(STEP, op.limit - len(reaped))
        (reply,) = yield [Call("reap", (op.types, op.held, size))]
        answer = Answer(reply)
        before = len(reaped)
        for worker in answer:
            record = answer.job()
            assert record is not None, "reaping removes nothing"
            reaped.append(ops.Reaped(record, worker.decode() or None))
        if len(reaped) - before < size:
            break
    return reaped


# Completing from outside


def lock(op: ops.LockChain) -> Asking[Record]:
    (reply,) = yield [Call("lock", op.chain_id, [op.chain_id])]
    (record,) = _jobs(_accepted(reply))
    return record


def complete(op: ops.Complete) -> Asking[Settled]:
    payloads = Payloads()
    steps = [
        (payloads.add(step.output), step.continuation and wire.new_job(step.continuation, payloads))
        for step in op.steps
    ]
    starts = [wire.new_job(job, payloads) for job in op.starts]
    body = (op.chain_id, op.job_id, steps, starts, op.expected)
    (reply,) = yield [Call("complete", body, [op.chain_id, op.job_id], payloads)]
    return Settled(unblocked=_pairs(list(_accepted(reply))))


# Operating


def cancel(op: ops.Cancel) -> Asking[list[ChainRecord]]:
    payloads = Payloads()
    body = (op.chain_ids, payloads.add(op.reason), op.spare_running)
    (reply,) = yield [Call("cancel", body, op.chain_ids, payloads)]
    answer = _accepted(reply)
    return [answer.chain() for _ in op.chain_ids]


def retry(op: ops.RetryJobs) -> Asking[list[Record]]:
    (reply,) = yield [Call("retry", op.job_ids, op.job_ids)]
    return list(_jobs(_accepted(reply, wanted="failed or cancelled")))


def run_now(op: ops.RunNow) -> Asking[list[Record]]:
    (reply,) = yield [Call("run_now", op.job_ids, op.job_ids)]
    return list(_jobs(_accepted(reply, wanted="pending")))


def delete(op: ops.Delete) -> Asking[list[str]]:
    (reply,) = yield [Call("delete", (op.chain_ids, op.cascade), op.chain_ids)]
    return [chain.decode() for chain in _accepted(reply)]


def pause(op: ops.Pause) -> Asking[None]:
    if op.types:
        yield [Call("pause", op.types)]


def resume(op: ops.Resume) -> Asking[None]:
    if op.types:
        yield [Call("resume", op.types)]


def keep(op: ops.Keep) -> Asking[list[bool | None]]:
    kept: list[bool | None] = []
    for ids in _steps(op.chain_ids, STEP):
        (reply,) = yield [Call("keep", (ids, wire.number(op.keep)), ids)]
        kept += [_KEPT[word] for word in reply]
    return kept


_KEPT = {b"kept": True, b"unfinished": False, b"none": None}


def prune(op: ops.Prune) -> Asking[list[str]]:
    pruned: list[str] = []
    while len(pruned) < op.limit:
        size = min(STEP, op.limit - len(pruned))
        (reply,) = yield [Call("prune", size)]
        pruned += [chain.decode() for chain in reply]
        if len(reply) < size:
            break
    return pruned


# Reading


def get_chains(op: ops.GetChains) -> Asking[list[ChainRecord | None]]:
    chains: list[ChainRecord | None] = []
    for burst in _steps(list(_steps(op.ids, STEP)), PIPELINED):
        for reply in (yield [Call("get_chains", ids, ids) for ids in burst]):
            answer = Answer(reply)
            chains += [answer.chain() if word == b"found" else None for word in answer]
    return chains


def get_jobs(op: ops.GetJobs) -> Asking[list[Record | None]]:
    jobs: list[Record | None] = []
    for burst in _steps(list(_steps(op.ids, STEP)), PIPELINED):
        for reply in (yield [Call("get_jobs", ids, ids) for ids in burst]):
            jobs += Answer(reply).jobs()
    return jobs


def get_blockers(op: ops.GetBlockers) -> Asking[list[ChainRecord]]:
    (reply,) = yield [Call("get_blockers", op.job_id, [op.job_id])]
    answer = Answer(reply)
    return [answer.chain() for _ in answer]


def get_history(op: ops.GetHistory) -> Asking[tuple[Record, list[ops.PastAttempt]] | None]:
    (reply,) = yield [Call("get_history", op.job_id, [op.job_id])]
    answer = Answer(reply)
    job = answer.job()
    return None if job is None else (job, wire.past_attempts(iter(answer)))


def list_jobs(op: ops.ListJobs) -> Asking[list[Record]]:
    rows: list[Record] = []
    yield from _listing("list_jobs", op, rows, _jobs)
    return rows


def list_chains(op: ops.ListChains) -> Asking[list[ChainRecord]]:
    rows: list[ChainRecord] = []
    yield from _listing("list_chains", op, rows, lambda answer: (answer.chain() for _ in answer))
    return rows


def _listing(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[Answer], Iterator[T]]
) -> Asking[None]:
    """Window after window, until there are enough rows or no more."""
    before = op.before
    wanted = wire.filter_(op.filter)
    while len(rows) < op.limit:
        size = min(STEP, op.limit - len(rows))
        (reply,) = yield [Call(verb, (wanted, size, before, WINDOW))]
        answer = Answer(reply)
        go_on = answer.next()
        rows += read(answer)
        if not go_on:
            return
        before = int(go_on)


def get_stats(op: ops.GetStats) -> Asking[list[TypeStats]]:
    (reply,) = yield [Call("get_stats")]
    stats: list[TypeStats] = []
    for type, due, scheduled, oldest, paused, counts in reply:
        values = iter(counts)
        by_status = {wire.STATUSES[letter.decode()]: int(n) for letter, n in zip(values, values, strict=True)}
        first = None if oldest is None else int(oldest)
        stats.append(TypeStats(type.decode(), by_status, int(due), int(scheduled), first, bool(paused)))
    return sorted(stats)


def next_due(op: ops.NextDue) -> Asking[int | None]:
    (reply,) = yield [Call("next_due", op.types)]
    return None if reply is None else int(reply)


# Live events


def listen(op: ops.Listen) -> Asking[int]:
    (reply,) = yield [Call("listen", (op.listener, wire.number(op.lease)))]
    return int(reply)


def unlisten(op: ops.Unlisten) -> Asking[None]:
    yield [Call("unlisten", op.listener)]


def read_events(op: ops.ReadEvents) -> Asking[list[ops.EventRow]]:
    (reply,) = yield [Call("read_events", (op.after, op.limit))]
    values = iter(reply)
    return [wire.event_row(entry, facts) for entry, facts in zip(values, values, strict=True)]


VERBS: dict[str, Callable[[Any], Asking[Any]]] = {
    verb.__name__: verb
    for verb in (
        start, preview, claim, renew, settle, guard, progress, reap, lock, complete, cancel, retry, run_now, delete,
        pause, resume, keep, prune, get_chains, get_jobs, get_blockers, list_chains, list_jobs, get_history, get_stats,
        next_due, listen, unlisten, read_events,
    )
}  # fmt: skip


# Reading answers


def _accepted(reply: list[Any], *, wanted: str = "") -> Answer:
    """An answer whose first value is `ok`, after that; anything else is raised."""
    if reply[0] != b"ok":
        raise _refusal(reply, wanted=wanted)
    return Answer(reply[1:])


def _refusal(reply: list[Any], *, wanted: str = "") -> HoldfastError:
    """The error that a script's word stands for."""
    word, *values = [value.decode() for value in reply]
    match word:
        case "ChainNotFound":
            return ChainNotFound(values[0])
        case "JobNotFound":
            return JobNotFound(values[0])
        case "AlreadyCompleted":
            return AlreadyCompleted(values[0])
        case "NotPending":
            return NotPending(values[0], wire.STATUSES[values[1]], wanted)
        case "BlockerDeleted":
            return NotPending.blocker_deleted(values[0], wire.STATUSES[values[1]])
        case "KeyTaken":
            return NotPending.key_taken(values[0], wire.STATUSES[values[1]], values[2])
        case "StillReferenced":
            return StillReferenced(list(zip(values[::2], values[1::2], strict=True)))
        case _:
            key, type = values
            return Conflict(f"key {key!r} of {type!r} was started or finished by another at the same time")


def _jobs(answer: Answer) -> Iterator[Record]:
    return (job for job in answer.jobs() if job is not None)


def _pairs(values: list[bytes]) -> tuple[tuple[str, str], ...]:
    names = [value.decode() for value in values]
    return tuple(zip(names[::2], names[1::2], strict=True))


def _steps(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[at : at + size] for at in range(0, len(items), size))
