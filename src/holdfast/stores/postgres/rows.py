"""Converts rows to records, and loads the SQL statements."""

from __future__ import annotations

from typing import Final

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.stores.sql.files import Statements
from holdfast.stores.sql.plan import Row

SQL: Final = Statements("holdfast.stores.postgres.sql")

WIDTH: Final = len(Record.__struct_fields__)
"""The number of columns of the view `record`. They are the fields of `Record`, in the same order."""

_STATUS_COLUMN: Final = Record.__struct_fields__.index("status")

_STATUS = {str(status): status for status in Status}


def record(row: Row) -> Record:
    """The record in the first columns of a row."""
    fields = list(row[:WIDTH])
    fields[_STATUS_COLUMN] = _STATUS[fields[_STATUS_COLUMN]]
    return Record(*fields)


def chain(row: Row) -> ChainRecord:
    """The chain of a row with two records: its first job, and its last job, which is null if it is the same."""
    first = record(row)
    return ChainRecord(first, first if row[WIDTH] is None else record(row[WIDTH:]))


def status(text: str) -> Status:
    return _STATUS[text]
