"""What blockers mean for a new job: each store writes this decision."""

from __future__ import annotations

import pytest

from holdfast.core.blocker_rules import NO_BLOCKERS, WHEN_ENDED, WHEN_FAILED, BlockerState, blocker_state
from holdfast.core.record import Status

STATUSES = {"open": "running", "done": "completed", "bad": "failed", "gone": "cancelled"}
PENDING = BlockerState(Status.PENDING, 0)


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        ("wait", [], NO_BLOCKERS),
        ("wait", ["done"], PENDING),
        ("wait", ["done", "open", "bad"], BlockerState(Status.BLOCKED, 2)),
        ("fail", ["done", "open"], BlockerState(Status.BLOCKED, 1)),
        ("fail", ["open", "gone", "bad"], BlockerState(Status.BLOCKED, 3, broken="gone")),
        (WHEN_FAILED, ["open", "bad"], PENDING),
        (WHEN_FAILED, ["open", "open"], BlockerState(Status.BLOCKED, 1)),
        (WHEN_FAILED, ["done"], BlockerState(Status.BLOCKED, 1, cancelled=True)),
        (WHEN_ENDED, ["done", "bad"], PENDING),
        (WHEN_ENDED, ["done", "open"], BlockerState(Status.BLOCKED, 1)),
    ],
)
def test_the_blockers_of_a_new_job_decide_its_status(rule: str, after: list[str], expected: BlockerState) -> None:
    assert blocker_state(rule, after, STATUSES) == expected
