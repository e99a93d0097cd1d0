"""Each statement has a name and a description, fits the schema, and is used."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from pathlib import Path

import pytest

from holdfast.stores.sql import files
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.rows import FIELDS, SQL

TEXTS = files.statements("holdfast.stores.sqlite.sql")
SHARED = Path(files.__file__).parent
SOURCE = SHARED.parent / "sqlite"


@pytest.fixture
def connection(path: Path, store: SqliteStore) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", TEXTS)
def test_a_statement_begins_with_its_name_and_one_sentence(name: str) -> None:
    first = TEXTS[name].splitlines()[0]

    assert re.fullmatch(rf"-- {name}: .+[.]", first)


@pytest.mark.parametrize("name", TEXTS)
def test_a_statement_fits_the_schema(name: str, connection: sqlite3.Connection) -> None:
    sql = SQL[name]
    named = dict.fromkeys(re.findall(r":(\w+)", sql))
    parameters = named or [None] * len(set(re.findall(r"\?\d+", sql)) or re.findall(r"\?", sql))

    assert connection.execute(f"explain {sql}", parameters).fetchall()


@pytest.mark.parametrize("name", TEXTS)
def test_a_statement_is_used(name: str) -> None:
    used = any(f'SQL["{name}"]' in file.read_text() for file in SOURCE.rglob("*.py"))

    # Code that both SQL stores share is given the statements of the store, or names them.
    named = (f'["{name}"]', f'rows_instruction("{name}"')
    assert used or any(form in file.read_text() for file in SHARED.glob("*.py") for form in named)


def test_the_view_of_records_has_the_fields_of_a_record(connection: sqlite3.Connection) -> None:
    columns = [row[1] for row in connection.execute("pragma table_info(holdfast_record)")]

    assert [column.replace("chain_index", "index") for column in columns] == list(FIELDS)
