"""The statements that write new jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import NewJob
from holdfast.stores.postgres.execution import BEGIN, Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.start_functions import PASS_OVER
from holdfast.stores.sql.plan import Many, Parameters, Plan, Row, Statement

_INSERT = SQL["insert_jobs"]
_INSERT_ALONE = SQL["insert_job"]
_INSERT_NEW = _INSERT.replace(PASS_OVER, "")
"""Passing over an id that exists costs each row an index lookup and a log entry. The first try of a generated id does
without."""
_INSERT_ALONE_NEW = _INSERT_ALONE.replace(PASS_OVER, "")

PART: Final = 1000
"""Jobs that one statement writes. Where there are more, the next part is made while the server is at the last."""


class Inserted(NamedTuple):
    """What a statement wrote: the numbers of those jobs that are new, in order, and when."""

    seqs: list[int]
    now: Micros
    recorded: bool
    """Whether that was recorded for listeners."""


def insert(
    turn: Turn, jobs: Sequence[NewJob], *, open_blockers: Sequence[int] = (), awaited: Collection[str] = ()
) -> Statement:
    """The statement that writes these jobs in an open transaction; its one row is an `Inserted`."""
    return Statement(_INSERT, _columns(turn, jobs, open_blockers=open_blockers, awaited=awaited))


def insert_plain(turn: Turn, jobs: Sequence[NewJob], *, notice: Statement | None) -> Plan[list[Row]]:
    """Write first jobs of chains that wait for nothing, all or none; each row is an `Inserted`.

    The notice goes behind the commit, unless there are very many.
    """
    unused = turn.first and not any(job.chosen for job in jobs)
    if len(jobs) == 1:
        return (yield Statement(_INSERT_ALONE_NEW if unused else _INSERT_ALONE, _alone(turn, jobs[0]), notice))
    sql = _INSERT_NEW if unused else _INSERT
    if len(jobs) <= PART:
        return (yield Statement(sql, _columns(turn, jobs), notice))
    parts = (jobs[first : first + PART] for first in range(0, len(jobs), PART))
    yield BEGIN
    return (yield Many(sql, (_columns(turn, part) for part in parts)))


def _alone(turn: Turn, job: NewJob) -> Parameters:
    return {
        "now": turn.now or turn.clock,
        "id": job.id,
        "type": job.type,
        "input": job.input,
        "priority": job.priority,
        "delay": job.delay,
        "at": job.at,
        "max_attempts": job.max_attempts,
        "timeout": job.timeout,
        "keep": job.keep,
        "trace": job.trace,
        "on_blocker_failure": job.on_blocker_failure,
    }


def _columns(
    turn: Turn,
    jobs: Sequence[NewJob],
    *,
    open_blockers: Sequence[int] = (),
    awaited: Collection[str] = (),
) -> Parameters:
    column = dict(zip(NewJob.__struct_fields__, zip(*map(astuple, jobs), strict=True), strict=True))
    continues = any(column["index"])
    named = [(job.id, place, chain_id) for job in jobs for place, chain_id in enumerate(job.after)]
    return {
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
        "blocked_ids": [job_id for job_id, _, _ in named],
        "positions": [place for _, place, _ in named],
        "blocker_ids": [chain_id for _, _, chain_id in named],
        "awaited": [job.id in awaited or job.chain_id in awaited for job in jobs] if awaited else [],
        "on_blocker_failures": _unless_all("wait", column["on_blocker_failure"]),
    }


def _unless_all(default: Any, column: tuple[Any, ...]) -> list[Any]:
    """A column of the insert; empty where every job has the default."""
    return [] if column.count(default) == len(column) else list(column)
