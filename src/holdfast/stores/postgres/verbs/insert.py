"""The statements that write new jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import asdict, astuple

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import OPTIONS, NewJob
from holdfast.stores.postgres.plan import Begin, NotifyingStatement, Plan, Result
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.start_only_functions import for_new_ids
from holdfast.stores.sql.plan import Many, Parameters, Statement

_INSERT = SQL["insert_jobs"]
_INSERT_ALONE = SQL["insert_job"]
_INSERT_NEW = for_new_ids(_INSERT)
"""`on conflict` costs each row an index lookup and a WAL entry. The first try with generated ids does not need it."""
_INSERT_ALONE_NEW = for_new_ids(_INSERT_ALONE)
_INSERT_SIMILAR = SQL["insert_similar_jobs"]
_INSERT_SIMILAR_NEW = for_new_ids(_INSERT_SIMILAR)
_OWN: Final = frozenset({"id", "chain_id", "input", "chosen"})
"""The fields in which similar jobs may differ."""

PART: Final = 1000
"""Jobs per statement. With more jobs, the next part is encoded while the server executes the previous one."""


class Inserted(NamedTuple):
    """The result of an insert: the seqs of the new jobs, in order, and the time."""

    seqs: list[int]
    now: Micros
    recorded: bool
    """Whether events were recorded for listeners."""


def insert(
    context: PlanContext, jobs: Sequence[NewJob], *, open_blockers: Sequence[int] = (), awaited: Collection[str] = ()
) -> Statement:
    """The statement that writes these jobs in an open transaction. It returns one row, an `Inserted`."""
    return Statement(_INSERT, _columns(context, jobs, open_blockers=open_blockers, awaited=awaited))


def insert_plain(context: PlanContext, jobs: Sequence[NewJob], *, notify: Statement | None) -> Plan[Result]:
    """Write first jobs of chains that have no blockers, all or none. Each row is an `Inserted`.

    The NOTIFY statement is pipelined behind the commit, unless the jobs need several statements.
    """
    unused = context.first and not any(job.chosen for job in jobs)
    if len(jobs) == 1 and jobs[0].track is None:
        sql = _INSERT_ALONE_NEW if unused else _INSERT_ALONE
        return (yield _notifying(Statement(sql, _alone(context, jobs[0])), notify))
    parameters = _similar if _are_similar(jobs) else _columns
    if parameters is _similar:
        sql = _INSERT_SIMILAR_NEW if unused else _INSERT_SIMILAR
    else:
        sql = _INSERT_NEW if unused else _INSERT
    if len(jobs) <= PART:
        return (yield _notifying(Statement(sql, parameters(context, jobs)), notify))
    parts = (jobs[first : first + PART] for first in range(0, len(jobs), PART))
    yield Begin()
    return (yield Many(sql, (parameters(context, part) for part in parts)))


def _notifying(statement: Statement, notify: Statement | None) -> Statement | NotifyingStatement:
    return statement if notify is None else NotifyingStatement(statement, notify)


def _alone(context: PlanContext, job: NewJob) -> Parameters:
    return {**asdict(job), "now": context.now or context.clock}


def _similar(context: PlanContext, jobs: Sequence[NewJob]) -> Parameters:
    return {**_alone(context, jobs[0]), "ids": [job.id for job in jobs], "inputs": [job.input for job in jobs]}


def _are_similar(jobs: Sequence[NewJob]) -> bool:
    """Whether jobs without lanes differ only in their ids and inputs."""
    return jobs[0].track is None and all(
        column.count(column[0]) == len(column) for field, column in _by_field(jobs).items() if field not in _OWN
    )


def _by_field(jobs: Sequence[NewJob]) -> dict[str, tuple[Any, ...]]:
    return dict(zip(NewJob.__struct_fields__, zip(*map(astuple, jobs), strict=True), strict=True))


def _columns(
    context: PlanContext,
    jobs: Sequence[NewJob],
    *,
    open_blockers: Sequence[int] = (),
    awaited: Collection[str] = (),
) -> Parameters:
    column = _by_field(jobs)
    continues = any(column["index"])
    named = [(job.id, index, chain_id) for job in jobs for index, chain_id in enumerate(job.after)]
    return {
        "now": context.now or context.clock,
        "ids": list(column["id"]),
        "types": list(column["type"]),
        "inputs": list(column["input"]),
        "chain_ids": list(column["chain_id"]) if continues else [],
        "chain_indexes": list(column["index"]) if continues else [],
        "priorities": _unless_all(0, column["priority"]),
        "delays": _unless_all(0, column["delay"]),
        "ats": _unless_all(None, column["at"]),
        **{option: _unless_all(None, column[option]) for option in OPTIONS},
        "keys": _unless_all(None, column["key"]),
        "details": _unless_all(None, column["details"]),
        "blockers": [len(after) for after in column["after"]] if any(column["after"]) else [],
        "open_blockers": list(open_blockers) if any(open_blockers) else [],
        "blocked_ids": [job_id for job_id, _, _ in named],
        "positions": [index for _, index, _ in named],
        "blocker_ids": [chain_id for _, _, chain_id in named],
        "awaited": [job.id in awaited or job.chain_id in awaited for job in jobs] if awaited else [],
        "on_blocker_failures": _unless_all("wait", column["on_blocker_failure"]),
        "tracks": _unless_all(None, column["track"]),
    }


def _unless_all(default: Any, column: tuple[Any, ...]) -> list[Any]:
    """A column of the insert; empty if every job has the default."""
    return [] if column.count(default) == len(column) else list(column)
