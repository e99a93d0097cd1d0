"""One performance of a verb: its time, what others should hear, and how its statements become one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from holdfast.core.clock import Micros
from holdfast.stores.postgres.connection.libpq import TOLD
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.watermark import Watermarks
from holdfast.stores.postgres.wakeups.notification import Voice
from holdfast.stores.sql import plan
from holdfast.stores.sql.plan import Plan, Row, Statement

BEGIN: Final = Statement("begin isolation level read committed")
"""From here to its end a plan is one transaction. Before it, each statement is one by itself.

Read committed, whatever the database's default is: a statement that waited for a lock must see what it waited for.
In a transaction that is open already, the application's or ours, it does nothing.
"""

COMMIT: Final = Statement("commit")
"""The transaction ends here and the plan goes on. In a transaction that was open already it does nothing."""

TRY: Final = Statement("savepoint holdfast")
"""What is locked from here on can be let go. In a transaction that the plan began itself it does nothing."""

LET_GO: Final = Statement("rollback to savepoint holdfast")
"""Give back every lock since TRY. A transaction that the plan began itself is given up, and another begun."""

HELD: Final = Statement("release savepoint holdfast")
"""What was locked since TRY stays locked. In a transaction that the plan began itself it does nothing."""

_MOMENT = SQL["moment"]
_RECORD = SQL["record_events"]


@dataclass(slots=True)
class Turn(plan.Turn):
    """What a plan knows and gathers besides its operation. Its time is known once `begin` has asked for it."""

    now: Micros = 0
    clock: Micros | None = None
    """A test's time; None is the server's clock."""
    first: bool = False
    """Whether it is the first try of a verb by itself, which may fail where another will not."""
    unsure: bool = False
    """Whether an earlier try may have been written, and only its answer was lost."""
    marks: Watermarks = field(default_factory=Watermarks)
    voice: Voice | None = None
    """How a statement that commits by itself may tell its hints; None where they are sent afterwards."""
    reported: bool = False
    """Whether one did."""

    def receive(self, rows: list[Row]) -> None:
        """Take note of what the rows of a statement say of the one that was sent behind it, and leave it out."""
        if rows and rows[-1] is TOLD:
            self.reported = True
            rows.pop()

    def begin(self) -> Plan[None]:
        """Make the rest of the plan one transaction, and learn its time."""
        yield BEGIN
        yield from self._ask()

    def ask_again(self) -> Plan[None]:
        """Learn the time anew after a wait, where the plan goes by it."""
        if self.now:
            yield from self._ask()

    def _ask(self) -> Plan[None]:
        ((self.now, self.listening),) = yield Statement(_MOMENT, {"now": self.clock})

    def recorded(self) -> Plan[None]:
        """Write the events that were noted."""
        if self.events:
            columns = ("nows", "kinds", "job_ids", "chain_ids", "types", "attempts", "workers")
            yield Statement(_RECORD, dict(zip(columns, map(list, zip(*self.events, strict=True)), strict=True)))
            self.events.clear()
            self.hints.recorded = True
