"""What a job waits for: the completion of its blockers, a failure of one, or their ends. Pure: no clock, no I/O.

A record keeps the rule in `on_blocker_failure`. A job that waits for completions has "wait" or "fail" there, and its
`open_blockers` is exact at any time. The other two rules are those of `when=`. A blocker that failed may be retried, so
for them `open_blockers` only says when to look at the blockers again: never too late, possibly too early.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.core import failure
from holdfast.core.record import FINISHED, Status
from holdfast.errors import NotPending

WHEN_FAILED: Final = "when_failed"
"""The job starts when the first blocker fails or is cancelled, and is cancelled when all blockers complete."""
WHEN_ENDED: Final = "when_ended"
"""The job starts when all blockers have ended, with any status."""

NONE_FAILED: Final = failure.write("BlockersCompleted", "the chains whose failure this job waited for have completed")
"""The error of a job that is cancelled because none of its blockers failed."""


def waits_for_end(rule: str) -> bool:
    """Whether the rule is one of `when="failed"` and `when="ended"`."""
    return rule in (WHEN_FAILED, WHEN_ENDED)


def waiting_status(rule: str, blockers: Iterable[str]) -> tuple[Status, int]:
    """The status of a job with such a rule whose blockers have these statuses, and the number of its open blockers."""
    statuses = list(blockers)
    if rule == WHEN_FAILED and any(status in ("failed", "cancelled") for status in statuses):
        return Status.PENDING, 0
    left = sum(status not in FINISHED for status in statuses)
    if left:
        return Status.BLOCKED, left
    return (Status.CANCELLED if rule == WHEN_FAILED else Status.PENDING), 0


class BlockerState(NamedTuple):
    """What the blockers of a new job mean for it."""

    status: Status
    """Pending or blocked. A job that ends at once is blocked before."""
    open_blockers: int
    broken: str | None = None
    """A blocker because of which the job fails at once."""
    cancelled: bool = False
    """Whether the job is cancelled at once: it waits for a failure, and all blockers completed."""


NO_BLOCKERS: Final = BlockerState(Status.PENDING, 0)


def blocker_state(rule: str, after: Sequence[str], statuses: Mapping[str, str]) -> BlockerState:
    """What these blockers mean for a new job with this rule. `statuses` has their statuses."""
    if not after:
        return NO_BLOCKERS
    if waits_for_end(rule):
        status, number = waiting_status(rule, [statuses[chain_id] for chain_id in dict.fromkeys(after)])
        if status is Status.CANCELLED:
            return BlockerState(Status.BLOCKED, 1, cancelled=True)
        return BlockerState(status, number)
    left = [chain_id for chain_id in after if statuses[chain_id] != Status.COMPLETED]
    broken = [chain_id for chain_id in left if rule == "fail" and statuses[chain_id] in FINISHED]
    return BlockerState(Status.BLOCKED if left else Status.PENDING, len(left), broken[0] if broken else None)


def open_after_retry(job_id: str, status: str, rule: str, named: int, blockers: Sequence[tuple[str, str]]) -> int:
    """The number of open blockers of a retried job with such a rule, which has this status now.

    `named` is how many chains it named. `blockers` has the id and status of those that exist; a chain that was named
    twice counts once. Raises NotPending if the job waits for a failure, and all of them have completed, or are deleted.
    """
    if not named:
        return 0
    after, left = waiting_status(rule, dict(blockers).values())
    if after is Status.CANCELLED:
        if len(blockers) < named:
            raise NotPending.blocker_deleted(job_id, status)
        raise NotPending.none_failed(job_id, status)
    return left
