"""`start` and `wait`."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import RenderableType
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import chain_document, payload
from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import printable, write_json
from holdfast.cli.times import optional_duration, zoned
from holdfast.client.client import Client
from holdfast.core.job import Chain
from holdfast.core.record import Status
from holdfast.errors import ChainCancelled, ChainFailed, ChainNotFound
from holdfast.registry.options import Dedup


@command
def start(
    run: Invocation,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type's name.")],
    input: Annotated[
        str, typer.Option("--input", metavar="JSON", help="Arguments by name; @FILE reads a file, - reads stdin.")
    ] = "{}",
    key: Annotated[str | None, typer.Option(help="Start only if no chain of this type has this key.")] = None,
    dedup: Annotated[
        str | None, typer.Option(help="Which chains with the key count: incomplete (default) or any.")
    ] = None,
    window: Annotated[str | None, typer.Option(metavar="DURATION", help="... and how old they may be.")] = None,
    delay: Annotated[str | None, typer.Option(metavar="DURATION", help="Due after this time.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Due at this time, with its zone: 2026-01-31T12:00:00Z.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Higher goes first.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="How many attempts it gets.")] = None,
    attempt_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long one attempt may take.")
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Wait for this chain first. May be repeated.")
    ] = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="The chain's id. Starting it twice is safe.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, and answer like `wait`.")] = False,
    timeout: Annotated[str | None, typer.Option(metavar="DURATION", help="With --wait: how long to wait.")] = None,
) -> None:
    """Start a chain. Its input is checked against the type's signature."""
    if timeout is not None and not wait:
        raise Mistake("--timeout is for --wait; --attempt-timeout limits each attempt")
    patience = optional_duration(timeout)
    jobs = run.jobs
    with checked():
        bound = jobs[type].parse(_read(input))
        bound = bound.options(
            key=key, dedup=cast("Dedup | None", dedup), window=optional_duration(window),
            delay=optional_duration(delay), at=zoned(at, "--at"), priority=priority, max_attempts=max_attempts,
            timeout=optional_duration(attempt_timeout), after=after or (), id=id,
        )  # fmt: skip
    with run.client(jobs, creates=True) as client:
        chain = client.start(bound)
    if wait:
        _wait(run, chain.id, timeout=patience)
        return
    found = chain.deduplicated
    what = f"{'found' if found else 'started'} {printable(chain.type)} chain"
    run.answer({**chain_document(chain), "deduplicated": found}, tables.text(f"{what} {chain.id} ({chain.status})"))


@command
def wait(
    run: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The chain's id.")],
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Give up after this time: exit code 4.")
    ] = None,
) -> None:
    """Wait for a chain's end and print its output. Exit code 1 if it failed or was cancelled."""
    _wait(run, id, timeout=optional_duration(timeout))


def _wait(run: Invocation, chain_id: str, *, timeout: float | None) -> None:
    chain = run.attend(partial(_ended, chain_id, timeout=timeout))
    output = payload(chain.job.record.output, secrets=True)
    run.answer({**chain_document(chain), "output": output}, *_outcome(chain, output))
    run.end(Exit.DONE if chain.status is Status.COMPLETED else Exit.FAILED)


async def _ended(chain_id: str, client: Client, *, timeout: float | None) -> Chain[Any]:
    with suppress(ChainFailed, ChainCancelled):  # told from the chain itself
        await client.wait(chain_id, timeout=timeout)
    chain = await client.get(chain_id)
    if chain is None:
        raise ChainNotFound(chain_id)
    return chain


def _outcome(chain: Chain[Any], output: Any) -> list[RenderableType]:
    if chain.status is Status.COMPLETED:
        return [tables.text(write_json(output))]
    heading = Text.assemble(tables.text(chain.id), " ", tables.word(str(chain.status)))
    error = chain.error
    return [heading] if error is None else [heading, tables.lines(error.traceback.rstrip() or str(error), "red")]


def _read(text: str) -> str:
    """An input as typed, or from where the text says."""
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Mistake(f"--input {text}: cannot be read: {reason}") from None
