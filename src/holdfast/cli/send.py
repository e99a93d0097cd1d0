"""`send`: send a message to a chain."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.start import read_input
from holdfast.codec.codec import plain
from holdfast.errors import PayloadRefused


@command
def send(
    run: Invocation,
    chain: Annotated[str, typer.Argument(metavar="CHAIN", help="The id of a chain.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that the handler receives.")],
    value: Annotated[
        str, typer.Argument(metavar="JSON", help="The value as JSON; @FILE reads a file, - standard input.")
    ] = "null",
) -> None:
    """Send a message to a chain, for a handler that receives it. The first value of a name is kept."""
    try:
        decoded = plain(read_input(value).encode())
    except PayloadRefused as refusal:
        raise Mistake(f"the value is no JSON: {refusal}. A text needs quotes: '\"approved\"'") from None
    with checked(), run.client() as client:
        first = client.send(chain, name, decoded)
    said = f"sent {name}" if first else f"not stored: {name} was sent before, and the first value is kept"
    run.answer({"chain": chain, "name": name, "first": first}, tables.text(said))
