"""`start`: start a chain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, cast

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import chain_document
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import printable
from holdfast.cli.times import optional_duration, zoned
from holdfast.cli.wait import wait_for
from holdfast.registry.options import Dedup, When


@command
def start(
    run: Invocation,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type's name.")],
    input: Annotated[
        str, typer.Option("--input", metavar="JSON", help="Arguments by name; @FILE reads a file, - reads stdin.")
    ] = "{}",
    key: Annotated[
        str | None, typer.Option(help="Start only if no unfinished chain of this type has this key.")
    ] = None,
    dedup: Annotated[
        str | None, typer.Option(help="Which chains with the key count: incomplete (default) or any.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="DURATION", help="With --key: only chains created within this time count.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="With --key: a chain that has not begun takes this input and these options."),
    ] = False,
    debounce: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="With --key: the same, and the chain is due this long after the last start."
        ),
    ] = None,
    debounce_max: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="With --debounce: due at most this long after the first start."),
    ] = None,
    delay: Annotated[str | None, typer.Option(metavar="DURATION", help="Due after this time.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Due at this time, with its zone: 2026-01-31T12:00:00Z.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Jobs with a higher number run first.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="How many attempts it gets.")] = None,
    attempt_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long one attempt may take.")
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Wait for this chain first. May be repeated.")
    ] = None,
    when: Annotated[
        str | None, typer.Option(help="With --after: start when they completed (default), failed or ended.")
    ] = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="The chain's id. Starting it twice is safe.")] = None,
    shard: Annotated[str | None, typer.Option(metavar="NAME", help="The shard of the store.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, and answer like `wait`.")] = False,
    timeout: Annotated[str | None, typer.Option(metavar="DURATION", help="With --wait: how long to wait.")] = None,
) -> None:
    """Start a chain. Its input is checked against the type's signature."""
    if timeout is not None and not wait:
        raise Mistake("--timeout is for --wait; --attempt-timeout limits each attempt")
    wait_timeout = optional_duration(timeout)
    jobs = run.jobs
    with checked():
        bound = jobs[type].parse(read_input(input))
        bound = bound.options(
            key=key, dedup=cast("Dedup | None", dedup), window=optional_duration(window),
            delay=optional_duration(delay), at=zoned(at, "--at"), priority=priority, max_attempts=max_attempts,
            timeout=optional_duration(attempt_timeout), after=after or (), id=id,
            when=cast("When | None", when), replace=replace, debounce=optional_duration(debounce),
            debounce_max=optional_duration(debounce_max), shard=shard,
        )  # fmt: skip
    with run.client(jobs, creates=True) as client, checked():
        chain = client.start(bound)
    if wait:
        wait_for(run, chain.id, timeout=wait_timeout)
        return
    found = chain.deduplicated
    what = f"{'found' if found else 'started'} {printable(chain.type)} chain"
    run.answer({**chain_document(chain), "deduplicated": found}, tables.text(f"{what} {chain.id} ({chain.status})"))


def read_input(text: str) -> str:
    """The input: the text itself, the content of the file after `@`, or stdin for `-`."""
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Mistake(f"--input {text}: cannot be read: {reason}") from None
