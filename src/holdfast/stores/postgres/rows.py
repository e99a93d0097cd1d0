"""Between rows and records."""

from __future__ import annotations

from typing import Final

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.stores.sql.files import Statements
from holdfast.stores.sql.plan import Row

SQL: Final = Statements("holdfast.stores.postgres.sql")

WIDTH: Final = 31
"""Columns of the view `record`, which are the fields of `Record`, in its order."""

_STATUS = {str(status): status for status in Status}


def record(row: Row) -> Record:
    """The record that the first columns of a row make."""
    fields = list(row[:WIDTH])
    fields[5] = _STATUS[fields[5]]
    return Record(*fields)


def chain(row: Row) -> ChainRecord:
    """The chain that a row of two records makes; the second is empty where the chain has one job."""
    first = record(row)
    return ChainRecord(first, first if row[WIDTH] is None else record(row[WIDTH:]))


def status(text: str) -> Status:
    return _STATUS[text]
