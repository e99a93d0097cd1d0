"""`resume-schedule`: end the pause of a schedule."""

from __future__ import annotations

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation
from holdfast.cli.schedule_facts import Name, schedule_document
from holdfast.cli.times import iso


@command
def resume_schedule(run: Invocation, name: Name, reason: Reason = None) -> None:
    """End the pause of a schedule. Ticks that came meanwhile start no chain."""
    with run.client() as client, checked():
        resumed = client.resume_schedule(name, reason=reason)
    run.answer(schedule_document(resumed), tables.text(f"resumed schedule {name}: next tick {iso(resumed.next_at)}"))
