"""The query language of lists."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.dashboard.query import parse

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_query_becomes_filters() -> None:
    query = parse(
        'type:charge,refund status:failed error:"read timeout" key:order-7 age:>1h worker:w1 group:ab', now=NOW
    )

    assert query.problems == []
    assert query.filters == {
        "type": ["charge", "refund"],
        "status": ["failed"],
        "error": "read timeout",
        "key": "order-7",
        "created_until": NOW - timedelta(hours=1),
        "worker": "w1",
        "fingerprint": "ab",
    }
    assert parse("age:<30m", now=NOW).filters == {"created_since": NOW - timedelta(minutes=30)}
    assert parse(str(query), now=NOW) == query
    assert parse(query.with_term("error", 'a "quoted" \\ text')).filters.get("error") == 'a "quoted" \\ text'
    assert parse("").filters == {}


@pytest.mark.parametrize(
    "text",
    [
        "timeout", "colour:red", "status:done", "status:scheduled,failed", "age:1h", "age:>1y", "type:", "age:>999999w",
        "x" * 501, 'key:""',
    ],
)  # fmt: skip
def test_a_query_that_is_not_understood_has_a_problem(text: str) -> None:
    (problem, *_) = parse(text, now=NOW).problems

    assert problem.endswith(".")
    assert len(problem) < 200
