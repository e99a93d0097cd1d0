"""The context of a plan: its time, its events, and the hints that are sent after the commit."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.clock import Micros
from holdfast.stores.postgres.plan import Begin, Plan, Result
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.scan_starts import ScanStarts
from holdfast.stores.postgres.wakeups.notification import PipelinedNotify
from holdfast.stores.sql import plan
from holdfast.stores.sql.plan import Statement

_MOMENT = SQL["moment"]
_RECORD = SQL["record_events"]


@dataclass(slots=True)
class PlanContext(plan.PlanContext):
    """The context of a plan: its time, and what it collects. `now` is set by `begin`."""

    now: Micros = 0
    clock: Micros | None = None
    """The time that a test sets; None means the server's clock."""
    first: bool = False
    """True for the first try of a verb outside a transaction. It may fail in cases in which a later try succeeds."""
    unsure: bool = False
    """True if an earlier try may have committed and only its answer was lost."""
    scan_starts: ScanStarts = field(default_factory=ScanStarts)
    notify: PipelinedNotify | None = None
    """Creates the NOTIFY that is pipelined behind a statement; None if the hints are sent after the verb."""
    notified: bool = False
    """True if a pipelined NOTIFY has sent the hints."""

    def receive(self, result: Result) -> None:
        """Record whether the NOTIFY behind this statement was sent."""
        self.notified |= result.notified

    def begin(self) -> Plan[None]:
        """Make the rest of the plan one transaction, and read its time."""
        yield Begin()
        yield from self._read_time()

    def update_time(self) -> Plan[None]:
        """Read the time again after a wait, if the plan uses it."""
        if self.now:
            yield from self._read_time()

    def _read_time(self) -> Plan[None]:
        ((self.now, self.listening),) = yield Statement(_MOMENT, {"now": self.clock})

    def write_events(self) -> Plan[None]:
        """Write the recorded events."""
        if self.events:
            columns = ("nows", "kinds", "job_ids", "chain_ids", "types", "attempts", "workers")
            yield Statement(_RECORD, dict(zip(columns, map(list, zip(*self.events, strict=True)), strict=True)))
            self.events.clear()
            self.hints.recorded = True
