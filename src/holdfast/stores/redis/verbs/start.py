"""Start chains, and preview which existing chains a start would find."""

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
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, PIPELINED, ScriptCall, ScriptPlan, batches
from holdfast.stores.redis.verbs.script_errors import accepted, refusal

_PLAIN = 4
"""Number of values in the reply to a start that created all of its jobs, none of them blocked."""


def start(op: ops.Start) -> ScriptPlan[list[Started]]:
    """Calls of a hundred jobs. Calls that cannot be refused are sent together."""
    if len(op.jobs) > BATCH_SIZE:
        return (yield from _start_in_batches(op.jobs))
    if not op.jobs:
        return []
    (reply,) = yield (_create_call("start", op.jobs),)
    started, more = started_chains(op.jobs, reply)
    if more:
        yield from release()
    return started


def _start_in_batches(jobs: Sequence[NewJob]) -> ScriptPlan[list[Started]]:
    started: list[Started] = []
    together = 1 if any(job.after for job in jobs) else PIPELINED
    for pipeline in batches(list(batches(jobs)), together):
        any_more = False
        try:
            for batch, reply in zip(
                pipeline, (yield (_create_call("start", batch) for batch in pipeline)), strict=True
            ):
                chains, more = started_chains(batch, reply)
                any_more = more or any_more
                started += chains
        except HoldfastError as error:
            # "At least": calls without a reply may have started chains too.
            done = f"at least {len(started)} of {len(jobs)} chains were started before this"
            error.add_note(f"{done}; if each was given an id, starting all of them again creates none twice")
            raise
        if any_more:
            yield from release()
    return started


def preview(op: ops.PreviewStart) -> ScriptPlan[list[ChainRecord | None]]:
    """In batches. Each call repeats the earlier jobs that would be created and that its own jobs may find."""
    found: list[ChainRecord | None] = []
    planned: dict[object, dict[str, NewJob]] = defaultdict(dict)
    for jobs in batches(op.jobs, BATCH_SIZE // 2):
        earlier: dict[str, NewJob] = {}
        for job in jobs:
            for name in _names(job):
                earlier |= planned[name]
        sent = [*earlier.values(), *jobs]
        (reply,) = yield [_create_call("preview", sent)]
        chains = _previewed(sent, accepted(reply))[len(earlier) :]
        for job, chain in zip(jobs, chains, strict=True):
            for name in _names(job) if chain is None else ():
                planned[name][job.id] = job
        found += chains
    return found


def _names(job: NewJob) -> Iterator[object]:
    """The names under which a job can be found: its id, and its type and key."""
    yield job.id
    if job.key is not None:
        yield job.type, job.key


def _create_call(script: str, jobs: Sequence[NewJob]) -> ScriptCall:
    payloads, request = Payloads(), new_token()
    body: Any = [encode.new_job(job, payloads, by=request) for job in jobs]
    if script == "start" and len(body) == 1 and len(body[0]) == encode.PLAIN:
        body = jobs[0].type
        payloads.append(encode.due_hint(body))
    return ScriptCall(script, body, [job.id for job in jobs], payloads, request)


def started_chains(jobs: Sequence[NewJob], reply: bytes | list[Any]) -> tuple[list[Started], bool]:
    """The started chains, and whether more dependents have to be released."""
    if isinstance(reply, bytes):  # of the short path for one plain chain
        moment, _, seq_text = reply.partition(b" ")
        return [_created(jobs[0], int(moment), int(seq_text))], False
    if reply[0] != b"ok":
        raise refusal(reply)
    more, now, seq = reply[1] == b"more", int(reply[2]), int(reply[3])
    if len(reply) == _PLAIN:
        return [_created(job, now, number) for number, job in enumerate(jobs, start=seq)], more
    reader = ReplyReader(reply[_PLAIN:])
    started: list[Started] = []
    for job in jobs:
        match reader.next():
            case b"made":
                open_blockers, number = int(reader.next()), int(reader.next())
                started.append(_created(job, now, number, open_blockers))
            case b"ended":
                started.append(Started(reader.chain(), deduplicated=False))
            case b"removed":
                made_at, number = int(reader.next()), int(reader.next())
                started.append(_created(job, made_at, number))
            case result:
                started.append(Started(reader.chain(), deduplicated=result == b"found"))
    return started, more


def _created(job: NewJob, now: int, seq: int, open_blockers: int = 0) -> Started:
    if open_blockers:
        record = create(job, now, seq, status=Status.BLOCKED, open_blockers=open_blockers)
    else:
        record = create(job, now, seq)
    return Started(ChainRecord(record, record), False)


def _previewed(jobs: Sequence[NewJob], reader: ReplyReader) -> list[ChainRecord | None]:
    found: list[ChainRecord | None] = []
    for result in reader:
        if result == b"found":
            found.append(reader.chain())
        elif result == b"planned":
            record = create(jobs[int(reader.next()) - 1])
            found.append(ChainRecord(record, record))
        else:
            found.append(None)
    return found
