"""The progress bar of commands that work on many chains."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from holdfast.cli.invocation import Invocation


def progress(run: Invocation) -> Progress:
    """A progress bar on stderr, if stderr is a terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=run.err, transient=True, disable=run.json or not run.err.is_terminal,
    )  # fmt: skip
