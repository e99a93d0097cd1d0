"""List jobs and chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, PIPELINED, ScriptCall, ScriptPlan, batches
from holdfast.stores.redis.verbs.script_errors import existing, pairs
from holdfast.stores.redis.verbs.stats import get_stats

T = TypeVar("T")


def list_jobs(op: ops.ListJobs) -> ScriptPlan[ops.Listing[Record]]:
    rows: list[Record] = []
    before = yield from _list("list_jobs", op, rows, existing)
    return ops.Listing.cut(rows, [job.seq for job in rows], op.limit, before)


def list_chains(op: ops.ListChains) -> ScriptPlan[ops.Listing[ChainRecord]]:
    rows: list[ChainRecord] = []
    before = yield from _list("list_chains", op, rows, lambda reader: (reader.chain() for _ in reader))
    return ops.Listing.cut(rows, [chain.first.seq for chain in rows], op.limit, before)


def _list(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[ReplyReader], Iterator[T]]
) -> ScriptPlan[int | None]:
    """Add up to one row more than the limit. Returns the number below which rows were not read; None at the end."""
    if op.filter.statuses == (Status.RUNNING,) and op.filter.chain_id is None:
        yield from _list_running(verb, op, rows, read)
        return None
    if op.filter.key is not None and op.filter.chain_id is None:
        return (yield from _list_keyed(verb, op, rows, read, op.filter.key))
    return (yield from _list_windows(verb, op, rows, read))


def _list_running(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[ReplyReader], Iterator[T]]
) -> ScriptPlan[None]:
    """Running jobs are few, however many others exist: read all of their ids, by type, and filter them in order."""
    wanted = encode.filter_(op.filter)
    for ids in batches((yield from _running(chains=verb == "list_chains", before=op.before))):
        if len(rows) > op.limit:
            return
        (reply,) = yield [ScriptCall(verb, (wanted, op.limit + 1 - len(rows), None, BATCH_SIZE, ids), ids)]
        reader = ReplyReader(reply)
        reader.next()
        rows += read(reader)


def _running(*, chains: bool, before: int | None) -> ScriptPlan[list[str]]:
    """The ids of the running jobs, or of their chains, newest first."""
    numbers: dict[str, int] = {}
    stats = yield from get_stats(ops.GetStats())
    cursors = {each.type: "0" for each in stats if each.counts.get(Status.RUNNING)}
    while cursors:
        types = list(cursors)[:PIPELINED]
        replies = yield [ScriptCall("running", (type, cursors[type], chains)) for type in types]
        for type, (cursor, *found) in zip(types, replies, strict=True):
            numbers |= {id: int(number) for number, id in pairs(found)}
            cursors[type] = cursor.decode()
            if cursors[type] == "0":
                del cursors[type]
    below = [id for id, number in numbers.items() if before is None or number < before]
    return sorted(below, key=numbers.__getitem__, reverse=True)


def _list_keyed(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[ReplyReader], Iterator[T]], key: str
) -> ScriptPlan[int | None]:
    """A key is looked up for each type: chains of a key are found however many others exist."""
    types = op.filter.chain_types or [each.type for each in (yield from get_stats(ops.GetStats()))]
    wanted = encode.filter_(op.filter)
    before, left = op.before, op.scan
    while len(rows) <= op.limit and left > 0:
        numbers: dict[str, int] = {}
        for some in batches(types, PIPELINED):
            for found in (yield [ScriptCall("by_key", (type, key, before, BATCH_SIZE)) for type in some]):
                numbers |= {id: int(number) for id, number in pairs(found)}
        ids = sorted(numbers, key=numbers.__getitem__, reverse=True)[:BATCH_SIZE]
        if not ids:
            return None
        (reply,) = yield [ScriptCall(verb, (wanted, op.limit + 1 - len(rows), None, BATCH_SIZE, ids), ids)]
        reader = ReplyReader(reply)
        reader.next()
        rows += read(reader)
        if len(ids) < BATCH_SIZE:
            return None
        before, left = numbers[ids[-1]], left - len(ids)
    return before


def _list_windows(
    verb: str, op: ops.ListJobs | ops.ListChains, rows: list[T], read: Callable[[ReplyReader], Iterator[T]]
) -> ScriptPlan[int | None]:
    """Read one window of rows after another, until there are enough rows, no more, or enough were read."""
    before = op.before
    left = op.scan
    wanted = encode.filter_(op.filter)
    while len(rows) <= op.limit and left > 0:
        window = min(BATCH_SIZE, left)
        (reply,) = yield [ScriptCall(verb, (wanted, min(window, op.limit + 1 - len(rows)), before, window))]
        reader = ReplyReader(reply)
        next_before = reader.next()
        rows += read(reader)
        if not next_before:
            return None
        before, left = int(next_before), left - window
    return before
