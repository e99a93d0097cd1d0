"""Convert between rows and records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from holdfast.core.lifecycle import OPTIONS
from holdfast.core.record import Record, Status
from holdfast.stores.sql.files import Statements
from holdfast.stores.sql.plan import Row

SQL: Final = Statements("holdfast.stores.sqlite.sql", options=OPTIONS)

FIELDS: Final = Record.__struct_fields__
"""The columns of the view `holdfast_record` are the fields of `Record`, in its order."""

_WIDTH: Final = len(FIELDS)

_STATUS_AT = FIELDS.index("status")

_STATUS = {str(status): status for status in Status}


def record(row: Row) -> Record:
    """The record of a row of `holdfast_record`."""
    fields = list(row)
    fields[_STATUS_AT] = _STATUS[fields[_STATUS_AT]]
    return Record(*fields)


def split_record(row: Row) -> tuple[Record, Row]:
    """The record of a row that begins with the columns of `holdfast_record`, and the columns after them."""
    return record(row[:_WIDTH]), row[_WIDTH:]


def as_json(values: Iterable[str | int]) -> str:
    """A list as one parameter, for `json_each`."""
    text = msgspec.json.encode(tuple(values)).decode()
    if "\\u0000" in text:
        # json_each ends a string at a NUL, so that the statement would find the row of another id.
        raise ValueError("ids, types and keys cannot contain a NUL character")
    return text
