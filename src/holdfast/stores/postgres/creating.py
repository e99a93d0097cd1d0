"""Start chains and add continuations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from msgspec.structs import astuple

from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.lifecycle import NewJob, create
from holdfast.operations import Preview, Start, Started
from holdfast.record import ChainRecord
from holdfast.sql.plan import Plan, Row, Statement
from holdfast.stores.postgres import chains, locks
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.turn import Turn
from holdfast.wakeups import Hints

_INSERT = SQL["insert_jobs"]
_INSERT_BLOCKERS = SQL["insert_blockers"]
_LOCK_KEYS = SQL["lock_keys"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEYS = SQL["find_keys"]
_AWAIT = SQL["await"]

_SEPARATOR = "\x1f"


def start(turn: Turn, op: Start) -> Plan[list[Started]]:
    if not op.jobs:
        return []
    if any(job.key is not None or job.after for job in op.jobs):
        yield from turn.begin()
        found = yield from _hold(turn, op.jobs)
        answers = yield from create_found(turn, op.jobs, found)
        yield from turn.recorded()
        return answers
    return (yield from _start_plain(turn, op.jobs))


def preview(turn: Turn, op: Preview) -> Plan[list[ChainRecord | None]]:
    yield from turn.begin()
    found = yield from _find(turn, op.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(op.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(
    turn: Turn, jobs: Sequence[NewJob], expected: Sequence[str]
) -> Plan[tuple[list[str | None], HoldfastError | None]]:
    """What these starts would find, and why they cannot be written as their transaction was told, if so.

    Their keys are held, and the last jobs of their blockers.
    """
    if not jobs:
        return [], None
    found = yield from _find(turn, jobs)
    for job, chain_id, told in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != told:
            problem = f"key {job.key!r} of {job.type!r} was started or finished by another at the same time"
            return found, Conflict(problem)
    new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
    made: set[str] = set()
    for job in new:
        if missing := (yield from missing_blocker(job, made)):
            return found, missing
        made.add(job.id)
    return found, None


def keys_of(turn: Turn, jobs: Iterable[NewJob]) -> Callable[[], Plan[None]] | None:
    """What holds the keys of jobs to be created, if they have any. Whoever holds keys and jobs holds the keys first."""
    pairs = sorted({(job.type, job.key) for job in jobs if job.key is not None})
    if not pairs:
        return None
    types, keys = [type for type, _ in pairs], [key for _, key in pairs]

    def hold() -> Plan[None]:
        yield Statement(_LOCK_KEYS, {"types": types, "keys": keys, "now": turn.now})

    return hold


def endings_of(jobs: Iterable[NewJob]) -> list[chains.Ending]:
    """How the chains may end with these continuations: one may find that a chain it waits for has failed."""
    return ["failing"] if any(job.after and job.on_blocker_failure == "fail" for job in jobs) else []


def blockers_of(jobs: Iterable[NewJob]) -> list[str]:
    """The chains that jobs to be created wait for."""
    return list(dict.fromkeys(chain_id for job in jobs for chain_id in job.after))


def missing_blocker(job: NewJob, made: Collection[str]) -> Plan[ChainNotFound | None]:
    """The first of a job's blockers that does not exist, nor is made in the same step."""
    if not job.after:
        return None
    known = yield from chains.tails(dict.fromkeys(job.after))
    unknown = (chain_id for chain_id in job.after if chain_id not in known and chain_id not in made)
    return next((ChainNotFound(chain_id) for chain_id in unknown), None)


def add(turn: Turn, jobs: Sequence[NewJob], *, awaited: Collection[str] = ()) -> Plan[list[Row]]:
    """Create jobs in an open transaction, blocked where a blocker is still open; `awaited` are ids of some of them.

    The last jobs of their blockers are locked.
    """
    named = blockers_of(jobs)
    tails = yield from chains.tails(named)
    statuses = {chain_id: tail.status for chain_id, tail in tails.items()}
    if tails:
        yield Statement(_AWAIT, {"seqs": [tail.seq for tail in tails.values()]})
    open_blockers: list[int] = []
    failed: list[tuple[int, str]] = []
    for place, job in enumerate(jobs):
        for chain_id in job.after:
            if chain_id not in statuses:
                raise ChainNotFound(chain_id)
        left = [chain_id for chain_id in job.after if statuses[chain_id] != "completed"]
        ended = [chain_id for chain_id in left if statuses[chain_id] in ("failed", "cancelled")]
        open_blockers.append(len(left))
        fails = bool(ended) and job.on_blocker_failure == "fail"
        if fails:
            failed.append((place, ended[0]))
        if job.index == 0:
            statuses[job.id] = "failed" if fails else "blocked" if left else "pending"
    rows = yield insert(turn, jobs, open_blockers=open_blockers, awaited={*named, *awaited})
    if len(rows) < len(jobs):
        raise Conflict("a job with the same id was started by another at the same time; start it again")
    if named:
        yield _insert_blockers(jobs)
    turn.hints.due.update(job.type for job, left in zip(jobs, open_blockers, strict=True) if not left)
    for place, blocker in failed:
        yield from turn.recorded()
        broken = yield from chains.fail(turn, [rows[place][0]], blocker)
        yield from chains.broken(turn, [chain_id for chain_id in broken if chain_id not in statuses])
    return rows


def insert(
    turn: Turn,
    jobs: Sequence[NewJob],
    *,
    open_blockers: Sequence[int] = (),
    awaited: Collection[str] = (),
    channel: str | None = None,
    notice: str | None = None,
) -> Statement:
    """The statement that writes these jobs; it answers (seq, now, anybody listening) for each that is new.

    Its commit sends the notice to the channel, where there is one.
    """
    column = dict(zip(NewJob.__struct_fields__, zip(*map(astuple, jobs), strict=True), strict=True))
    continues = any(column["index"])
    return Statement(
        _INSERT,
        {
            "now": turn.now or turn.clock,
            "ids": list(column["id"]),
            "types": list(column["type"]),
            "inputs": list(column["input"]),
            "chain_ids": list(column["chain_id"]) if continues else [],
            "chain_indexes": list(column["index"]) if continues else [],
            "priorities": _unless_all(0, column["priority"]),
            "delays": _unless_all(0, column["delay"]),
            "ats": _unless_all(None, column["at"]),
            "max_attempts": _unless_all(None, column["max_attempts"]),
            "timeouts": _unless_all(None, column["timeout"]),
            "keeps": _unless_all(None, column["keep"]),
            "keys": _unless_all(None, column["key"]),
            "traces": _unless_all(None, column["trace"]),
            "blockers": [len(after) for after in column["after"]] if any(column["after"]) else [],
            "open_blockers": list(open_blockers) if any(open_blockers) else [],
            "awaited": [job.id in awaited or job.chain_id in awaited for job in jobs] if awaited else [],
            "on_blocker_failures": _unless_all("wait", column["on_blocker_failure"]),
            "channel": channel,
            "notice": notice,
        },
    )


def _start_plain(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[Started]]:
    """Jobs without keys or blockers: one statement, which need not look before."""
    distinct = jobs if len(jobs) == 1 else list({job.id: job for job in reversed(jobs)}.values())[::-1]
    due = {job.type for job in distinct}
    voice = turn.voice
    notice = None if voice is None else voice.says(Hints(due))
    rows = yield insert(turn, distinct, channel=None if voice is None else voice.channel, notice=notice)
    # Told also where nothing is new: the same start was sent before, and its sender may not know that it was written.
    turn.hints.due |= due
    if rows:
        turn.told = notice is not None
        turn.hints.recorded |= rows[0][2]
    if len(rows) == len(jobs):
        return [
            Started(ChainRecord(record, record), deduplicated=False)
            for record in (create(job, now, seq) for job, (seq, now, _) in zip(jobs, rows, strict=True))
        ]
    return (yield from _read_again(jobs, {row[0] for row in rows}))


def _read_again(jobs: Sequence[NewJob], new: set[int]) -> Plan[list[Started]]:
    """Some ids existed before, or were given twice: answer each with the chain it belongs to now."""
    roots: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": [job.id for job in jobs]})))
    stored = yield from chains.read(set(roots.values()))
    answers: list[Started] = []
    for job in jobs:
        chain = stored.get(roots.get(job.id, job.id))
        if chain is None:
            raise _gone(job.id)
        answers.append(Started(chain, deduplicated=chain.first.seq not in new))
        new.discard(chain.first.seq)
    return answers


def _hold(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """What each job finds, under its key, with the last jobs of the blockers of those that find nothing held."""
    keys = keys_of(turn, jobs)
    if not any(job.after for job in jobs):
        if keys is not None:
            yield from keys()
        return (yield from _find(turn, jobs))

    def look() -> Plan[tuple[list[str | None], list[int]]]:
        found = yield from _find(turn, jobs)
        new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
        tails = yield from chains.tails(blockers_of(new))
        return found, [tail.seq for tail in tails.values()]

    return (yield from locks.hold(turn, look, keys=keys))


def _find(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the chain it would find: made earlier in the same batch, or in the store."""
    keyed = {place: job for place, job in enumerate(jobs) if job.key is not None}
    known: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": [job.id for job in jobs]})))
    stored = (yield from _find_keys(turn, keyed)) if keyed else {}
    made: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for place, job in enumerate(jobs):
        match = known.get(job.id)
        if match is None and job.key is not None:
            same_key = made.setdefault((job.type, job.key), [])
            match = _made_before(job, same_key) or stored.get(place)
            if match is None:
                same_key.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def _find_keys(turn: Turn, keyed: dict[int, NewJob]) -> Plan[dict[int, str]]:
    """The newest chain in each job's dedup scope, by the job's place."""
    places, jobs = list(keyed), list(keyed.values())
    rows = yield Statement(
        _FIND_KEYS,
        {
            "now": turn.now,
            "types": [job.type for job in jobs],
            "keys": [job.key for job in jobs],
            "sinces": [None if job.window is None else turn.now - job.window for job in jobs],
            "scopes": [job.dedup for job in jobs],
            "excludes": [_SEPARATOR.join(job.exclude) or None for job in jobs],
        },
    )
    return {places[number - 1]: chain_id for number, chain_id in rows}


def _made_before(job: NewJob, made: Sequence[str]) -> str | None:
    if job.window is not None and job.window <= 0:
        return None
    return next((chain_id for chain_id in reversed(made) if chain_id not in job.exclude), None)


def create_found(turn: Turn, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
    """Create the jobs that found nothing, in an open transaction. Conflict if a chain that was found is gone."""
    made = yield from create_new(turn, jobs, found)
    # Found by its own id: sent before, and maybe not told.
    turn.hints.due.update(job.type for job, chain_id in zip(jobs, found, strict=True) if chain_id == job.id)
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if others := {root for root in roots if root not in made}:
        made |= yield from chains.read(others)
    if missing := others - made.keys():
        raise _gone(*missing)
    return [Started(made[root], chain_id is not None) for root, chain_id in zip(roots, found, strict=True)]


def create_new(turn: Turn, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[dict[str, ChainRecord]]:
    """Create the jobs that found nothing, in an open transaction; answers those that wait for nothing, by id."""
    new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
    rows = (yield from add(turn, new)) if new else []
    made: dict[str, ChainRecord] = {}
    for job, (seq, now, recorded) in zip(new, rows, strict=True):
        turn.hints.recorded |= recorded
        if not job.after:
            record = create(job, now, seq)
            made[job.id] = ChainRecord(record, record)
    return made


def _gone(*chain_ids: str) -> Conflict:
    return Conflict(f"found and at the same time deleted by another: {', '.join(sorted(chain_ids))}; start it again")


def _insert_blockers(jobs: Sequence[NewJob]) -> Statement:
    rows = [(job.id, place, chain_id) for job in jobs for place, chain_id in enumerate(job.after)]
    return Statement(
        _INSERT_BLOCKERS,
        {
            "job_ids": [row[0] for row in rows],
            "positions": [row[1] for row in rows],
            "chain_ids": [row[2] for row in rows],
        },
    )


def _unless_all(default: Any, column: tuple[Any, ...]) -> list[Any]:
    """A column of the insert; empty where every job has the default."""
    return [] if column.count(default) == len(column) else list(column)
