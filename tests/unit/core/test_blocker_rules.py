from __future__ import annotations

import pytest

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED, open_after_retry, waiting_status
from holdfast.core.record import Status
from holdfast.errors import NotPending


@pytest.mark.parametrize(
    ("rule", "blockers", "expected"),
    [
        (WHEN_FAILED, ["completed", "running"], (Status.BLOCKED, 1)),
        (WHEN_FAILED, ["failed", "running"], (Status.PENDING, 0)),
        (WHEN_FAILED, ["completed", "cancelled"], (Status.PENDING, 0)),
        (WHEN_FAILED, ["completed", "completed"], (Status.CANCELLED, 0)),
        (WHEN_ENDED, ["failed", "running", "blocked"], (Status.BLOCKED, 2)),
        (WHEN_ENDED, ["failed", "completed", "cancelled"], (Status.PENDING, 0)),
    ],
)
def test_the_status_of_a_waiting_job(rule: str, blockers: list[str], expected: tuple[Status, int]) -> None:
    assert waiting_status(rule, blockers) == expected
    assert waiting_status(rule, [Status(status) for status in blockers]) == expected


def test_a_retry_is_refused_if_no_failure_can_happen() -> None:
    assert open_after_retry("a", "failed", WHEN_FAILED, 2, [("b", "failed"), ("c", "completed")]) == 0
    assert open_after_retry("a", "failed", WHEN_ENDED, 2, []) == 0
    assert open_after_retry("a", "failed", WHEN_ENDED, 2, [("b", "running"), ("b", "running")]) == 1
    with pytest.raises(NotPending, match="blockers have completed"):
        open_after_retry("a", "cancelled", WHEN_FAILED, 1, [("b", "completed")])
    with pytest.raises(NotPending, match="deleted"):
        open_after_retry("a", "cancelled", WHEN_FAILED, 2, [("b", "completed")])
