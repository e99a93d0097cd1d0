"""`wait`: wait for a chain's end."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import chain_document, payload
from holdfast.cli.exit_codes import Exit
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import write_json
from holdfast.cli.times import optional_duration
from holdfast.client.client import Client
from holdfast.core.job import Chain
from holdfast.core.record import Status
from holdfast.errors import ChainCancelled, ChainFailed, ChainNotFound


@command
def wait(
    run: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The chain's id.")],
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Give up after this time: exit code 4.")
    ] = None,
) -> None:
    """Wait for a chain's end and print its output. Exit code 1 if it failed or was cancelled."""
    wait_for(run, id, timeout=optional_duration(timeout))


def wait_for(run: Invocation, chain_id: str, *, timeout: float | None) -> None:
    """Wait, and answer with the outcome of the chain."""
    chain = run.attend(partial(_ended, chain_id, timeout=timeout))
    output = payload(chain.job.record.output, secrets=True)
    run.answer({**chain_document(chain), "output": output}, *_outcome(chain, output))
    run.end(Exit.DONE if chain.status is Status.COMPLETED else Exit.FAILED)


async def _ended(chain_id: str, client: Client, *, timeout: float | None) -> Chain[Any]:
    with suppress(ChainFailed, ChainCancelled):  # the outcome is read from the chain itself
        await client.wait(chain_id, timeout=timeout)
    chain = await client.get(chain_id)
    if chain is None:
        raise ChainNotFound(chain_id)
    return chain


def _outcome(chain: Chain[Any], output: Any) -> list[RenderableType]:
    if chain.status is Status.COMPLETED:
        return [tables.text(write_json(output))]
    heading = Text.assemble(tables.text(chain.id), " ", tables.styled(str(chain.status)))
    error = chain.error
    return [heading] if error is None else [heading, tables.lines(error.traceback.rstrip() or str(error), "red")]
