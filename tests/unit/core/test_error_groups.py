"""Error groups: which failures have the same fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.core import error_groups
from holdfast.core.counters import TOTAL, CounterChange
from holdfast.core.error_groups import (
    OTHER,
    add_failures,
    application_frame,
    blocker_failed,
    classify,
    lost_lease,
    most_frequent,
    normalise,
    read_summary,
)
from holdfast.core.failure import describe, write
from holdfast.stores.postgres.rows import SQL


@pytest.mark.parametrize(
    ("message", "normal"),
    [
        ("order 17 is unknown", "order N is unknown"),
        ("took 1.5s of 10,000", "took Ns of N"),
        ("no job 6f9619ff-8b86-d011-b42d-00c04fc964ff", "no job UUID"),
        ("object at 0x7f217e11d5d0", "object at HEX"),
        ("commit deadbeef01 not found", "commit HEX not found"),
        ("no column 'price' in \"orders\"", "no column STR in STR"),
        ("cannot open /srv/data/a-1.csv", "cannot open PATH"),
        ("first line\nsecond line 5", "first line"),
        ("\n\n  spaces   and\ttabs", "spaces and tabs"),
        ("", ""),
    ],
)
def test_what_differs_from_failure_to_failure_is_replaced(message: str, normal: str) -> None:
    assert normalise(message) == normal


def test_a_long_message_is_shortened() -> None:
    assert len(normalise("text " * 10_000)) == 200


def test_the_fingerprint_depends_on_type_exception_message_and_place() -> None:
    def of(type: str, exception: str, message: str, place: str = "charge") -> str:
        trace = f'Traceback\n  File "/app/shop/pay.py", line 3, in {place}\n    raise\n'
        return classify(type, write(exception, message, trace)).fingerprint

    same = of("pay", "ValueError", "order 1")
    assert same == of("pay", "ValueError", "order 2")
    assert len({same, of("ship", "ValueError", "order 1"), of("pay", "KeyError", "order 1")}) == 3
    assert len({same, of("pay", "ValueError", "orders 1"), of("pay", "ValueError", "order 1", "refund")}) == 3


def test_the_frame_is_the_innermost_one_of_the_application() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/app/shop/pay.py", line 3, in charge\n    client.post()\n'
        '  File "/app/.venv/lib/python3.12/site-packages/httpx/client.py", line 9, in post\n    raise Timeout\n'
        f'  File "{json.__file__}", line 9, in loads\n'
        f'  File "{Path(error_groups.__file__).parent.parent}/client/client.py", line 9, in start\n'
    )

    assert application_frame(trace) == "shop/pay.py:charge"


def test_without_a_frame_of_the_application_the_innermost_one_counts() -> None:
    trace = '  File "/x/site-packages/a/b.py", line 1, in one\n  File "/x/site-packages/c/d.py", line 2, in two\n'

    assert application_frame(trace) == "c/d.py:two"
    assert application_frame("") == ""


def test_a_real_exception_has_the_function_that_called_the_library() -> None:
    def parse() -> None:
        json.loads("{")

    with pytest.raises(ValueError, match="Expecting") as raised:
        parse()

    summary = read_summary(classify("parse", describe(raised.value)).summary)
    assert summary.exception == "JSONDecodeError"
    assert summary.frame.endswith("test_error_groups.py:parse")


def test_a_hostile_message_does_not_prevent_the_fingerprint() -> None:
    assert len(classify("t\ud800", write("E", "\ud800\0 \U0001f600" * 500)).fingerprint) == 16


def test_the_groups_of_the_stores_are_the_same_in_sql() -> None:
    assert f"'{lost_lease('').summary}'" in SQL["reap"]
    assert f"'{lost_lease('').fingerprint}' ||" in SQL["reap"]
    assert f"'{blocker_failed('').summary}'" in SQL["fail_blocked"]
    assert f"'{blocker_failed('').fingerprint}' ||" in SQL["fail_blocked"]


def test_new_fingerprints_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_groups, "MOST_GROUPS", 2)
    changes = [
        CounterChange("pay", 5, "failed", 1, fingerprint=name, summary="[]", example=name, at=5)
        for name in ("a", "b", "c", "d")
    ]

    groups, occurrences = add_failures([*changes, changes[0]], {}, {})

    assert set(groups) == {"a", "b", OTHER}
    assert occurrences["a", TOTAL] == (2, 0)
    assert occurrences[OTHER, 5] == (2, 0)
    assert [each.group.fingerprint for each in most_frequent(groups, occurrences, first=None, limit=2)] == ["", "a"]
