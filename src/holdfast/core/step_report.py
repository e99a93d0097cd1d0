"""Steps of a job as callers see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from holdfast.core.clock import to_datetime
from holdfast.core.failure import ErrorText, read_error
from holdfast.core.steps import StepKind, StepRow


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step, sleep, receive or cursor of a job, or a step that failed.

    `each` is the value of `each=`, None without one. `result` is the stored result as plain JSON values; of a cursor,
    the number of its items. `error` is the last error of a step that failed, or the timeout of a receive.
    """

    name: str
    each: Any
    result: Any = field(repr=False)
    error: ErrorText | None
    attempt: int
    started_at: datetime
    finished_at: datetime
    kind: StepKind = "step"


def finished_steps(rows: Iterable[StepRow]) -> list[Step]:
    """The steps of these rows that are finished or failed, in order of completion."""
    ended = (row for row in rows if row.finished_at is not None)
    finished = sorted(ended, key=lambda row: (row.finished_at, row.number))
    return [
        Step(
            row.name,
            msgspec.json.decode(row.each) if row.each else None,
            _result(row),
            read_error(row.error),
            row.attempt,
            to_datetime(row.started_at),
            to_datetime(row.started_at if row.finished_at is None else row.finished_at),
            row.kind,
        )
        for row in finished
    ]


def _result(row: StepRow) -> Any:
    if row.result is None:
        return None
    value = msgspec.json.decode(row.result)
    return value[0] if row.kind == "cursor" else value
