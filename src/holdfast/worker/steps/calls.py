"""Checks of the arguments of steps, the same for async and blocking code."""

from __future__ import annotations

import math
from typing import Any

from holdfast.core.clock import Micros, duration
from holdfast.core.lifecycle import Cancel, Fail, Reschedule
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.core.steps import StepKind, StepRow
from holdfast.errors import ClaimLost
from holdfast.worker.steps.log import Key
from holdfast.worker.steps.results import NOT_GIVEN

_NOT_RETRIED = (ClaimLost, Cancel, Fail, Reschedule)


def check_options(kwargs: dict[str, Any], **options: Any) -> None:
    """Raises TypeError if a call has both options and keyword arguments of the function."""
    given = [name for name, value in options.items() if value is not NOT_GIVEN and value is not None]
    if given and kwargs:
        raise TypeError(
            f"a step with {', '.join(f'{name}=' for name in given)} passes no keyword arguments to its function: "
            f"wrap the function in functools.partial(..., {next(iter(kwargs))}=...)"
        )
    timeout = options.get("timeout")
    if timeout is not None and not 0 < seconds(timeout) < math.inf:
        raise ValueError("the timeout= of a step is positive and finite")


def wait_time(value: Seconds, what: str) -> Micros:
    """A duration of a sleep or a timeout. Raises ValueError if it is negative or not finite."""
    if not 0 <= seconds(value) < 10 * 365 * 86400:
        raise ValueError(f"{what} must be 0 or more seconds, and less than ten years")
    return duration(seconds(value))


def check_kind(row: StepRow, key: Key, kind: StepKind) -> None:
    """Raises RuntimeError if the stored row with this name is of another kind: written by an older handler."""
    if row.kind != kind:
        raise RuntimeError(
            f"the name {key} is stored as a {row.kind} of this job, and is now used for a {kind}; use another name"
        )


def retry_delay(retry: Retry | None, tries: int, error: BaseException) -> float | None:
    """Seconds until the next try of a step; None if there is none."""
    if retry is None or isinstance(error, _NOT_RETRIED):
        return None
    if retry.max_attempts is not None and tries >= retry.max_attempts:
        return None
    return retry.delay(tries)


def is_failure(error: BaseException) -> bool:
    """Whether the error is stored with the step."""
    return isinstance(error, Exception) and not isinstance(error, ClaimLost | Cancel | Reschedule)
