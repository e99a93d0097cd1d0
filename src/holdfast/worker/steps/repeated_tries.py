"""Detects that another try of a transactional step has stored the step, so that this try does not commit.

Two tries can overlap. A commit whose answer was lost, or a try that continues in its thread after its timeout, may
succeed while the step is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.steps import Checkpoint, StepRow


class StoredByOther(Exception):
    """Another try has stored the step. The transaction of this one is rolled back."""

    def __init__(self, row: StepRow) -> None:
        self.row = row
        super().__init__("another try has stored this step")

    @property
    def result(self) -> bytes:
        assert self.row.result is not None, "a completed step has a result"
        return self.row.result


def stored_by_other(found: Sequence[Sequence[StepRow]], saved: Checkpoint) -> None:
    """Raise StoredByOther if the stored row is not that of this checkpoint. Each checkpoint has another number."""
    for row in found[0]:
        if (row.name, row.each) == (saved.name, saved.each) and (row.number, row.attempt) != (
            saved.number,
            saved.attempt,
        ):
            raise StoredByOther(row)
