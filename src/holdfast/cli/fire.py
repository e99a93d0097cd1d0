"""`fire`: start a chain of a schedule now."""

from __future__ import annotations

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.documents import chain_document
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import printable
from holdfast.cli.schedule_facts import Name


@command
def fire(run: Invocation, name: Name, reason: Reason = None) -> None:
    """Start a chain of a schedule now, even if it is paused or its last chain has not ended."""
    with run.client() as client, checked():
        chain = client.fire(name, reason=reason)
    run.answer(chain_document(chain), tables.text(f"started {printable(chain.type)} chain {chain.id}"))
