"""Work kinds: synthetic work with a predicted outcome. Pure: no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from holdfast.core.record import Status
from holdfast.core.retry import Retry
from holdfast.simulation.duration import Duration

Ending = Literal["success", "fail", "cancel"]

PREFIX = "work."
"""The prefix of the names of simulated job types."""

QUICK = Retry(initial=0.1, multiplier=2, maximum=2, jitter=0.1, max_attempts=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkKind:
    """Work of this kind takes its duration, fails `fail_times` times, and then ends with `outcome`.

    A failure of a kind that is not `retryable` is final, and so is the last of the attempts that `retry` allows.
    """

    name: str
    duration: Duration = field(default_factory=Duration)
    outcome: Ending = "success"
    retryable: bool = True
    fail_times: int = 0
    weight: int = 1
    """The share of this kind among the jobs of a simulation, relative to the other kinds."""
    retry: Retry = QUICK

    def __post_init__(self) -> None:
        if not self.name or not self.name.replace("-", "_").isidentifier():
            raise ValueError(f"the name of a work kind has letters, digits, _ and - only, not {self.name!r}")
        if self.outcome not in get_args(Ending):
            raise ValueError(f"outcome is one of {', '.join(get_args(Ending))}, not {self.outcome!r}")
        if self.fail_times < 0:
            raise ValueError(f"fail_times must be at least 0, not {self.fail_times}")
        if self.weight < 0:
            raise ValueError(f"weight must be at least 0, not {self.weight}")
        if self.outcome == "fail" and self.retryable and self.retry.max_attempts is None:
            raise ValueError(f"{self.name!r} would fail forever: limit its retries, or say retryable = false")

    @property
    def type(self) -> str:
        """The name of its job type."""
        return PREFIX + self.name

    def ending(self, attempt: int) -> Ending:
        """How the attempt of this number ends."""
        return "fail" if attempt <= self.fail_times else self.outcome

    def seconds(self, seed: int, number: int) -> float:
        """How long each attempt at this piece of work takes."""
        return self.duration.draw(f"{seed}/{self.name}/{number}")


@dataclass(frozen=True, slots=True)
class Prediction:
    """The final status of a job and its number of attempts, if no worker dies."""

    status: Status
    attempts: int


def predict(kind: WorkKind) -> Prediction:
    """The prediction for a job of this kind."""
    limit = kind.retry.max_attempts if kind.retryable else 1
    last = kind.fail_times + 1
    if limit is not None and (kind.outcome == "fail" or last > limit):
        return Prediction(Status.FAILED, limit)
    return Prediction(Status.COMPLETED if kind.outcome == "success" else Status.CANCELLED, last)
