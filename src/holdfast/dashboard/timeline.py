"""The attempts of a job on a line of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.core.job import AttemptReport, Report
from holdfast.dashboard.redaction import Redaction, ShownText

SCALE = 1000
"""The width of the line."""
SHOWN = 100
"""How many attempts the page shows."""


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An attempt as the page shows it. `start` and `width` are its place on the line, of `SCALE`."""

    report: AttemptReport
    error: str
    traceback: ShownText | None
    log: ShownText | None
    start: float
    width: float


def timeline(report: Report, redaction: Redaction) -> tuple[Sequence[ShownAttempt], int]:
    """The newest attempts, newest first, and how many older ones are left out."""
    attempts = list(report.attempts)[-SHOWN:]
    job = report.job
    begin = min([job.created_at, *(each.started_at for each in attempts if each.started_at is not None)])
    if len(report.attempts) > SHOWN and attempts[0].started_at is not None:
        begin = attempts[0].started_at
    end = job.finished_at or datetime.now(UTC)
    whole = max((end - begin).total_seconds(), 0.001)

    def place(moment: datetime) -> float:
        return min(SCALE, max(0.0, (moment - begin).total_seconds() / whole * SCALE))

    shown: list[ShownAttempt] = []
    for each in reversed(attempts):
        start = place(each.started_at or each.ended_at or begin)
        width = max(4.0, place(each.ended_at or end) - start)
        shown.append(
            ShownAttempt(
                each,
                redaction.error(each.error),
                redaction.traceback(each.error),
                redaction.log(each.log),
                min(start, SCALE - 4.0),
                width,
            )
        )
    return shown, len(report.attempts) - len(attempts)
