"""Converts rows to records, and loads the SQL statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.core.lifecycle import OPTIONS
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.stores.sql.files import Statements
from holdfast.stores.sql.plan import Row

_FIELDS: Final = Record.__struct_fields__
"""The columns of the view `record` are the fields of `Record`, in the same order."""

RECORD_COLUMNS: Final = ["job.chain_index" if field == "index" else f"job.{field}" for field in _FIELDS]
"""The same columns of the table, for `returning {record}`: an update cannot return the columns of a view."""

SQL: Final = Statements("holdfast.stores.postgres.sql", record=RECORD_COLUMNS, options=OPTIONS)

_WIDTH: Final = len(_FIELDS)

_STATUS_COLUMN: Final = _FIELDS.index("status")

_STATUS = {str(status): status for status in Status}


def record(row: Row) -> Record:
    """The record in the first columns of a row."""
    fields = list(row[:_WIDTH])
    fields[_STATUS_COLUMN] = _STATUS[fields[_STATUS_COLUMN]]
    return Record(*fields)


def chain(row: Row) -> ChainRecord:
    """The chain of a row with two records: its first job, and its last job, which is null if it is the same."""
    first, last = split_record(row)
    return ChainRecord(first, record(last) if has_record(last) else first)


def split_record(row: Row) -> tuple[Record, Row]:
    """The record in the first columns of a row, and the columns after them."""
    return record(row), row[_WIDTH:]


def has_record(row: Row) -> bool:
    """False if the columns of the record are null: an outer join found no job."""
    return row[0] is not None


def by_id(rows: Iterable[Row]) -> dict[str, Record]:
    """The records of rows by their ids."""
    return {each.id: each for each in map(record, rows)}


def status(text: str) -> Status:
    return _STATUS[text]
