"""Insert jobs: the rows of new jobs, and the statements that write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from holdfast.core.counters import MINUTE
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import FIELDS, SQL, as_json

COUNT_UP = SQL["count_up"]
_LAST_SEQ = SQL["last_seq"]
_TRACK_CHANGE = SQL["track_change"]
_ENTER_ORDERS = SQL["enter_orders"]
_ORDERS_ENTERED = SQL["orders_entered"]

_RARE = {
    "key": None, "timeout": None, "dedup_for": None, "details": None, "blockers": 0, "open_blockers": 0, "track": None,
}  # fmt: skip
"""Columns that most jobs leave at these defaults. The driver takes longer to bind a null than to bind three numbers."""
_ALL = SQL["insert_job"].partition("(")[2].partition(")")[0].replace("chain_index", "index").split(", ")
_USUAL = [column for column in _ALL if column not in _RARE]
_COLUMNS = [*_USUAL, *_RARE]
"""The columns of `insert_job` as fields of a record, in the order of `row`."""
_DEFAULTS = tuple(_RARE.values())

_VALUES = {
    "seq": "seq",
    "status": "'blocked' if open_blockers else 'pending'",
    "created_at": "(now := context.now)",
    "scheduled_at": "due if (due := now + job.delay if job.at is None else job.at) > now else now",
    "blockers": "len(job.after)",
    "open_blockers": "open_blockers",
}
"""The values of columns that are not fields of a new job. They are computed in the order of the columns."""
row: Callable[..., Row] = eval(  # noqa: S307 - the text consists of the names of our own columns
    f"lambda context, job, seq, open_blockers=0: "
    f"({', '.join(_VALUES.get(column, f'job.{column}') for column in _COLUMNS)})"
)
"""The row of a new job."""

_CHUNK = 40
"""Rows in one statement. A third faster than single rows. Older libraries allow 999 parameters in a statement."""

_FIELDS = {"status": "Status.PENDING", "attempt": "0"}
"""Fields of a new record that are not columns of its row. All other fields are None."""
new_record: Callable[..., Record] = eval(  # noqa: S307 - the text consists of the names of our own columns
    f"lambda {', '.join(_COLUMNS)}: "
    f"Record({', '.join(_FIELDS.get(field, field if field in _COLUMNS else 'None') for field in FIELDS)})",
    {"Record": Record, "Status": Status},
)
"""The record of a new row without blockers. Called for every job of a bulk start.

A compiled call with positional arguments takes a third of the time of `itemgetter`, and a seventh of that of keyword
arguments. Built from the names, it needs no change for a new column.
"""


def _insert(columns: Sequence[str], rows: int) -> str:
    """`insert_job` with these columns, for this many rows. A row with a track gets the number of the track, or 0."""
    names = ", ".join("chain_index" if column == "index" else column for column in columns)
    values = ", ".join([f"({', '.join('?' * len(columns))})"] * rows)
    if "track" not in columns:
        return f"insert into holdfast_job ({names}) values {values}"  # noqa: S608 - our own columns
    track = f"column{columns.index('track') + 1}"
    number = f"coalesce((select seq from holdfast_track where track = {track}), 0)"  # noqa: S608
    given = f"case when {track} is not null then {number} end"
    return f"insert into holdfast_job ({names}, track_seq) select *, {given} from (values {values})"  # noqa: S608


_WIDTH = len(_USUAL)
_ONE, _MANY = _insert(_COLUMNS, 1), _insert(_COLUMNS, _CHUNK)
_USUAL_ONE, _USUAL_MANY = _insert(_USUAL, 1), _insert(_USUAL, _CHUNK)


def last_seq() -> Plan[int]:
    """The newest seq, including those of deleted jobs. SQLite would use these again, so every insert gives its seq."""
    [(seq,)] = yield Statement(_LAST_SEQ)
    return int(seq)


def insert_rows(rows: Sequence[Row]) -> Plan[None]:
    """Insert the rows of new jobs."""
    one, many = _ONE, _MANY
    if all(row[_WIDTH:] == _DEFAULTS for row in rows):
        one, many, rows = _USUAL_ONE, _USUAL_MANY, [row[:_WIDTH] for row in rows]
    whole = len(rows) - len(rows) % _CHUNK
    if whole:
        yield Many(many, [tuple(chain.from_iterable(rows[at : at + _CHUNK])) for at in range(0, whole, _CHUNK)])
    if whole < len(rows):
        yield Many(one, rows[whole:])


def add_plain(context: PlanContext, jobs: Sequence[NewJob], rows: Sequence[Row]) -> Plan[None]:
    """Create jobs without blockers from these rows."""
    yield from enter_tracks(jobs)
    yield from insert_rows(rows)
    yield from enter_orders(jobs)
    counts = Counter(job.type for job in jobs)
    context.hints.due.update(counts)
    for type, number in counts.items():
        yield Statement(COUNT_UP, {"type": type, "minute": context.now // MINUTE, "jobs": number})
    if context.listening:
        for job in jobs:
            context.record("created", job.id, job.chain_id, job.type, 0)


def enter_tracks(jobs: Sequence[NewJob]) -> Plan[None]:
    """Make the tracks of these jobs ready, before the jobs are inserted: their rows have the numbers of the tracks."""
    tracks = {job.track: job.details for job in jobs if job.track is not None}
    if tracks:
        yield Many(_TRACK_CHANGE, list(tracks.items()))


def enter_orders(jobs: Sequence[NewJob]) -> Plan[None]:
    """Write the places of these new jobs in their orders, and the changes for the next claim.

    Not a trigger: it would make the insert of every job a tenth slower, also without lanes.
    """
    laned = [job for job in jobs if job.track is not None]
    if ordered := [job.id for job in laned if '"order"' in (job.details or "")]:
        yield Statement(_ENTER_ORDERS, {"ids": as_json(ordered)})
    if later := [job.id for job in laned if job.index > 0]:
        yield Statement(_ORDERS_ENTERED, {"ids": as_json(later)})


def add_one(context: PlanContext, job: NewJob, values: Row) -> Plan[None]:
    """Create a job without blockers from this row."""
    if job.track is not None:
        yield from enter_tracks((job,))
    if values[_WIDTH:] == _DEFAULTS:
        yield Statement(_USUAL_ONE, values[:_WIDTH])
    else:
        yield Statement(_ONE, values)
    if job.track is not None:
        yield from enter_orders((job,))
    yield Statement(COUNT_UP, {"type": job.type, "minute": context.now // MINUTE, "jobs": 1})
    context.hints.due.add(job.type)
    context.record("created", job.id, job.chain_id, job.type, 0)
