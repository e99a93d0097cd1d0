"""Look at jobs and chains, and follow what happens to them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeVar

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine import operations as ops
from holdfast.engine.operations import TypeStats
from holdfast.stores.redis.verbs import decode, encode
from holdfast.stores.redis.verbs.decode import Answer
from holdfast.stores.redis.verbs.script_call import PIPELINED, STEP, Asking, Call, bursts, steps
from holdfast.stores.redis.verbs.script_errors import existing, pairs

T = TypeVar("T")


def get_chains(op: ops.GetChains) -> Asking[list[ChainRecord | None]]:
    chains: list[ChainRecord | None] = []
    for burst in bursts(op.ids):
        for reply in (yield [Call("get_chains", ids, ids) for ids in burst]):
            answer = Answer(reply)
            chains += [answer.chain() if word == b"found" else None for word in answer]
    return chains


def get_jobs(op: ops.GetJobs) -> Asking[list[Record | None]]:
    jobs: list[Record | None] = []
    for burst in bursts(op.ids):
        for reply in (yield [Call("get_jobs", ids, ids) for ids in burst]):
            jobs += Answer(reply).jobs()
    return jobs


def get_blockers(op: ops.GetBlockers) -> Asking[list[ChainRecord]]:
    chains: list[ChainRecord] = []
    for passed in itertools.count(0, STEP):
        (reply,) = yield [Call("get_blockers", (op.job_id, passed, STEP), [op.job_id])]
        answer = Answer(reply)
        more = answer.next()
        chains += [answer.chain() for _ in answer]
        if not more:
            break
    return chains


def get_history(op: ops.GetHistory) -> Asking[tuple[Record, list[ops.PastAttempt]] | None]:
    past: list[ops.PastAttempt] = []
    while True:
        (reply,) = yield [Call("get_history", (op.job_id, len(past), STEP), [op.job_id])]
        answer = Answer(reply)
        job = answer.job()
        if job is None:
            return None
        some = decode.past_attempts(iter(answer))
        past += some
        if len(some) < STEP:
            return job, past


def list_jobs(op: ops.ListJobs) -> Asking[list[Record]]:
    rows: list[Record] = []
    yield from _listed("list_jobs", op, rows, existing)
    return rows


def list_chains(op: ops.ListChains) -> Asking[list[ChainRecord]]:
    rows: list[ChainRecord] = []
    yield from _listed("list_chains", op, rows, lambda answer: (answer.chain() for _ in answer))
    return rows


def _listed(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[Answer], Iterator[T]]
) -> Asking[None]:
    if op.filter.statuses == (Status.RUNNING,) and op.filter.chain_id is None:
        yield from _listing_running(verb, op, rows, read)
    else:
        yield from _listing(verb, op, rows, read)


def _listing_running(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[Answer], Iterator[T]]
) -> Asking[None]:
    """They are few, whatever else there is: all of them are asked for, by type, and looked at in their order."""
    wanted = encode.filter_(op.filter)
    for ids in steps((yield from _running(chains=verb == "list_chains", before=op.before))):
        if len(rows) >= op.limit:
            return
        (reply,) = yield [Call(verb, (wanted, op.limit - len(rows), None, STEP, ids), ids)]
        answer = Answer(reply)
        answer.next()
        rows += read(answer)


def _running(*, chains: bool, before: int | None) -> Asking[list[str]]:
    """The running jobs, or their chains, newest first."""
    numbers: dict[str, int] = {}
    stats = yield from get_stats(ops.GetStats())
    asked = {each.type: "0" for each in stats if each.counts.get(Status.RUNNING)}
    while asked:
        types = list(asked)[:PIPELINED]
        replies = yield [Call("running", (type, asked[type], chains)) for type in types]
        for type, (go_on, *found) in zip(types, replies, strict=True):
            numbers |= {id: int(number) for number, id in pairs(found)}
            asked[type] = go_on.decode()
            if asked[type] == "0":
                del asked[type]
    below = [id for id, number in numbers.items() if before is None or number < before]
    return sorted(below, key=numbers.__getitem__, reverse=True)


def _listing(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[Answer], Iterator[T]]
) -> Asking[None]:
    """Window after window, until there are enough rows or no more."""
    before = op.before
    wanted = encode.filter_(op.filter)
    while len(rows) < op.limit:
        size = min(STEP, op.limit - len(rows))
        (reply,) = yield [Call(verb, (wanted, size, before, STEP))]
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
        by_status = {decode.STATUSES[letter.decode()]: int(n) for letter, n in zip(values, values, strict=True)}
        first = None if oldest is None else int(oldest)
        stats.append(TypeStats(type.decode(), by_status, int(due), int(scheduled), first, bool(paused)))
    return sorted(stats)


def get_waiting(op: ops.GetWaiting) -> Asking[list[ops.Waiting]]:
    waiting: list[ops.Waiting] = []
    last = 0
    while len(waiting) < op.limit:
        (rows,) = yield [Call("get_waiting", (last, min(STEP, op.limit - len(waiting))))]
        if not rows:
            break
        for number, chain_id, *after in rows:
            waiting.append(ops.Waiting(chain_id.decode(), tuple(each.decode() for each in after)))
            last = int(number)
    return waiting


def next_due(op: ops.NextDue) -> Asking[int | None]:
    (reply,) = yield [Call("next_due", op.types)]
    return None if reply is None else int(reply)


def listen(op: ops.Listen) -> Asking[int]:
    (reply,) = yield [Call("listen", (op.listener, encode.number(op.lease)))]
    return int(reply)


def unlisten(op: ops.Unlisten) -> Asking[None]:
    yield [Call("unlisten", op.listener)]


def read_events(op: ops.ReadEvents) -> Asking[list[ops.EventRow]]:
    rows: list[ops.EventRow] = []
    while len(rows) < op.limit:
        after, size = rows[-1].seq if rows else op.after, min(STEP, op.limit - len(rows))
        (reply,) = yield [Call("read_events", (after, size))]
        values = iter(reply)
        rows += [decode.event_row(entry, facts) for entry, facts in zip(values, values, strict=True)]
        if len(reply) < size * 2:
            break
    return rows
