"""Why a job is in its state: the facts that a store reads, and the explanation that callers see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.job import Job
from holdfast.core.lanes import LaneFacts
from holdfast.core.record import Record, Status
from holdfast.core.worker_record import WorkerRecord

ReasonKind = Literal[
    "scheduled", "retrying", "blocked", "paused", "limit", "rate", "order", "no_worker", "busy", "external", "message",
    "queued", "running", "finished",
]  # fmt: skip

CLAIMABLE = frozenset({"queued", "busy", "no_worker"})
"""The reasons of a job that an idle worker of its type would claim."""

AHEAD_LIMIT = 1000
"""Jobs ahead of another one are counted up to this number."""
NAMED_BLOCKERS = 10
"""Blockers that an explanation names."""
NAMED_MESSAGES = 10
"""Messages that an explanation names."""


class OpenBlocker(NamedTuple):
    """A chain that a blocked job waits for."""

    chain_id: str
    type: str
    status: Status


class JobFacts(NamedTuple):
    """What decides whether a job is claimed, read in one snapshot with the clock of the store.

    A capability that keeps jobs from being claimed adds its facts here and a function to `core/reasons.py`.
    """

    record: Record
    now: Micros
    paused: bool
    ahead: int
    """For a due job: how many due jobs of its type a claim prefers to it, at most `AHEAD_LIMIT`."""
    blockers: tuple[OpenBlocker, ...] = ()
    """For a blocked job: the first `NAMED_BLOCKERS` that have not completed, in the order in which they were given."""
    messages: tuple[str, ...] = ()
    """For a suspended job that is not due: the names of the messages that it waits for, sorted."""


class Situation(NamedTuple):
    """A job with everything that its explanation depends on."""

    facts: JobFacts
    workers: Sequence[WorkerRecord]
    """The live workers. Empty for a finished job."""
    external: bool
    """The type is declared without a handler, and no live worker runs it."""
    lanes: Sequence[LaneFacts] = ()
    """The lanes of a due or failed job."""
    fronts: Mapping[str, Record] = MappingProxyType({})
    """By chain, the current job of each other chain at the front of these lanes, if they are orders."""

    @property
    def job(self) -> Record:
        return self.facts.record


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a job is in its state. `until` is the time at which the reason ends, if it is known."""

    kind: ReasonKind
    text: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job is in its state. The most specific reason comes first."""

    job: Job
    reasons: Sequence[Reason]
    messages: Sequence[str] = ()
    """The names of the messages that the job waits for. The reason `message` has their timeout as `until`."""

    @property
    def message_timeout(self) -> datetime | None:
        """When the job continues although no message arrived. None: there is no timeout, or it waits for no message."""
        return next((reason.until for reason in self.reasons if reason.kind == "message"), None)

    @property
    def text(self) -> str:
        """All reasons in sentences."""
        return " ".join(reason.text for reason in self.reasons)

    @property
    def claimable(self) -> bool:
        """Whether an idle worker of its type would claim the job now."""
        return all(reason.kind in CLAIMABLE for reason in self.reasons)
