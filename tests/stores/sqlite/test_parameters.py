"""Statements take parameters by name, or by position with a plain question mark."""

from __future__ import annotations

import re

from holdfast.stores.sqlite.rows import SQL


def test_no_statement_numbers_its_parameters() -> None:
    """Python 3.12 warns of `?1` with a sequence of values, and Python 3.14 refuses it."""
    assert [name for name, text in SQL.items() if re.search(r"\?\d", text)] == []
