"""Several statements in one file, each with its name."""

from __future__ import annotations

import pytest

from holdfast.core.record import Record
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.files import Statements, read, split

REAP = """-- reap: return jobs with an expired lease.

-- reap_expired: running jobs, oldest first.
-- materialized: a comment that explains a keyword.
select 1;

-- reap_failed: the job has no attempts left.
update job

   set status = 'failed'
"""


def test_a_file_is_split_at_the_names_of_its_statements() -> None:
    statements = dict(split(REAP))

    assert list(statements) == ["reap_expired", "reap_failed"]
    assert statements["reap_expired"].splitlines()[2] == "select 1;"
    assert "set status" in statements["reap_failed"]


def test_a_file_with_one_statement_gives_that_statement() -> None:
    assert list(split("-- mark: write a mark.\ninsert into mark (id) values (:id)\n")) == [
        ("mark", "-- mark: write a mark.\ninsert into mark (id) values (:id)\n")
    ]


def test_a_file_without_a_name_in_its_first_line_is_refused() -> None:
    with pytest.raises(ValueError, match="does not begin with"):
        list(split("select 1\n"))


def test_a_name_in_braces_is_replaced_by_its_list_of_columns() -> None:
    columns = SQL["claim"].partition(" returning ")[2].partition(" ), recorded")[0].split(", ")

    assert [column.removeprefix("job.").replace("chain_index", "index") for column in columns] == [
        *Record.__struct_fields__
    ]


def test_a_list_that_is_not_known_is_refused() -> None:
    with pytest.raises(KeyError, match="record"):
        Statements("holdfast.stores.postgres.sql")


def test_a_directory_of_files_is_read_as_one_file() -> None:
    texts = read("holdfast.stores.sqlite.migrations")

    assert list(texts) == ["0001_jobs"]
    assert texts["0001_jobs"].index("create table holdfast_job (") < texts["0001_jobs"].index(
        "create table holdfast_step ("
    )
