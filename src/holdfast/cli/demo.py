"""`demo`: a demonstration that needs no server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from holdfast.cli.command import command
from holdfast.cli.exit_codes import Exit
from holdfast.cli.invocation import Invocation


@command
def demo(
    run: Invocation,
    customers: Annotated[
        int, typer.Option(min=4, max=1000, help="How many customers the shop has, with 18 orders each.")
    ] = 20,
) -> None:
    """Run a demonstration: hundreds of chains, one worker killed, no job lost. Half a minute, no server needed."""
    # Imported here: no other command needs it.
    from holdfast.demo import run_demo, summary

    verdict = run_demo(run.out, customers=customers, quiet=run.json)
    run.answer({**asdict(verdict), "passed": verdict.passed}, summary(verdict))
    run.end(Exit.DONE if verdict.passed else Exit.FAILED)
