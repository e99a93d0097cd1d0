"""`mcp`: answer an assistant that speaks the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.errors import MissingExtra


@command
def mcp(
    run: Invocation,
    operate: Annotated[
        bool, typer.Option("--operate", help="Also offer retry, cancel, pause and other changes.")
    ] = False,
    payloads: Annotated[
        bool, typer.Option("--payloads", help="Also show inputs, outputs and stored logs; secrets masked by name.")
    ] = False,
) -> None:
    """Answer an assistant over standard input and output (Model Context Protocol). It can only read by default."""
    try:
        from holdfast.cli.assistant.server import assistant_server
    except ModuleNotFoundError as error:
        raise MissingExtra("holdfast mcp", "mcp") from error
    _ = run.address  # a missing or wrong setting ends the command here, not at the first question
    asyncio.run(assistant_server(run.flags, operate=operate, payloads=payloads).run_stdio_async())
