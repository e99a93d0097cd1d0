"""Operations on limits, rates and orders."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lanes import LaneFacts, LaneKind, LaneRule
from holdfast.core.record import Record
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation


class LimitDeclaration(NamedTuple):
    """A limit, rate or order as an application declares it."""

    name: str
    kind: LaneKind
    number: int
    per: Micros = 0
    burst: int = 1


class DeclareLimits(Operation[None], frozen=True):
    """Write these declarations if they differ from the stored ones. The number of an operator stays in force."""

    verb: ClassVar = "declare_limits"
    limits: tuple[LimitDeclaration, ...]


class SetLimit(Operation[None], frozen=True):
    """Set the number of a limit, or of one lane of it, until it is reset. None resets it to the declared number.

    A number of 0 pauses. Running jobs continue. Raises LimitNotFound, and ValueError for an order and a number above 0.
    If the number is set already, nothing changes. Of two callers that set the same number, one makes the change.
    """

    verb: ClassVar = "set_limit"
    name: str
    number: int | None
    key: str | None = None
    audit: Audit | None = None

    @property
    def action(self) -> str:
        """What the audit calls this change."""
        return "reset_limit" if self.number is None else "set_limit"


class LaneReport(NamedTuple):
    """One lane: how many of its jobs run and wait, and the ids of some running jobs."""

    key: str
    number: int
    override: bool
    running: int
    waiting: int
    holders: tuple[str, ...] = ()


class LimitReport(NamedTuple):
    """A limit, rate or order, with the lanes that have running or waiting jobs or a number of their own.

    The lanes with most waiting jobs come first.
    """

    name: str
    kind: LaneKind
    number: int
    """The number in force."""
    declared: int
    override: bool
    """Whether an operator has set the number."""
    per: Micros
    burst: int
    lanes: tuple[LaneReport, ...]


class GetLimits(Operation[list[LimitReport]], frozen=True):
    """All limits, rates and orders by name, each with at most `lanes` of its lanes."""

    verb: ClassVar = "get_limits"
    writes: ClassVar = False
    lanes: int = 1000


class GetLanes(Operation[list[LaneFacts]], frozen=True):
    """The state of the lanes of these rules, and the jobs that hold them.

    `job_id` is the job that has these rules. A sharded store reads the lanes on its shard. If the store does not know a
    limit yet, the numbers of the rule apply.
    """

    verb: ClassVar = "get_lanes"
    writes: ClassVar = False
    rules: tuple[LaneRule, ...]
    job_id: str = ""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The ids of the lanes."""
        return tuple(rule.lane for rule in self.rules)


class SkipJobs(Operation[list[Record]], frozen=True):
    """Let failed jobs hold their orders no longer. All or none. Raises JobNotFound or NotPending.

    A job that holds no order does not change.
    """

    verb: ClassVar = "skip"
    job_ids: tuple[str, ...]
    audit: Audit | None = None


HOLDERS_SHOWN = 10
"""How many running jobs a report names per lane."""
