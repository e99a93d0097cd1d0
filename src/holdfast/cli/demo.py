"""`demo`: a demonstration that needs no server."""

from __future__ import annotations

import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
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
    dashboard: Annotated[
        bool,
        typer.Option(
            "--dashboard", help="Open the run in the web dashboard, read-only, and leave it open until Ctrl-C."
        ),
    ] = False,
) -> None:
    """Run a demonstration: hundreds of chains, one worker killed, no job lost. Half a minute, no server needed."""
    # Imported here: no other command needs it.
    from holdfast.demo import run_demo, summary

    if dashboard:
        import_module("holdfast.dashboard")  # an error here names the missing extra

    interactive = sys.stdin.isatty() and run.out.is_terminal and not run.json
    verdict = run_demo(
        run.out,
        customers=customers,
        quiet=run.json,
        opened=(_show_in_browser if interactive else _ignore) if dashboard else None,
        until=_until_ctrl_c if dashboard and interactive else None,
    )
    run.answer({**asdict(verdict), "passed": verdict.passed}, summary(verdict))
    run.end(Exit.DONE if verdict.passed else Exit.FAILED)


def _show_in_browser(url: str) -> None:
    webbrowser.open(url)


def _ignore(url: str) -> None:
    """The URL is part of the displayed text."""


def _until_ctrl_c() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
