"""The triggers of lanes run for every statement that may change a job with lanes, and for no other."""

from __future__ import annotations

import re

from holdfast.stores.sqlite.rows import SQL

WITHOUT_LANES = {"claim", "claim_chosen", "settle_completed", "settle_completed_many"}
"""A claim takes no place and releases no permit. Completions of jobs with lanes use another statement, or record
themselves that the lanes are free."""


def test_statements_that_change_the_status_or_the_due_time_name_the_track() -> None:
    changing = {name for name, text in SQL.items() if _changed_columns(text) & {"status", "scheduled_at"}}

    silent = {name for name in changing if "track" not in _changed_columns(SQL[name])}

    assert len(changing) > 10
    assert silent == WITHOUT_LANES


def _changed_columns(text: str) -> set[str]:
    """The columns of holdfast_job that a statement sets."""
    found = re.search(r"update holdfast_job\s+set (.*?)(?:\swhere\s|$)", text, re.DOTALL)
    return set(re.findall(r"(?:^|,)\s*(\w+) =", found[1])) if found else set()
