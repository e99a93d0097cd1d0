"""A command with subcommands: `holdfast workers` lists, `holdfast workers drain ID` acts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import typer

from holdfast.cli import help
from holdfast.cli.command import flags_of


def command_group(
    listing: Callable[..., None],
    subcommands: Mapping[str, Callable[..., None]],
    *,
    epilog: str,
    negative: Collection[str] = (),
) -> typer.Typer:
    """A group of commands. Without a subcommand it runs `listing`. The shared options may stand before or after it.

    In the subcommands of `negative`, -1 is an argument and not an unknown option.
    """
    group = typer.Typer(
        cls=help.PlainTextGroup,
        invoke_without_command=True,
        epilog=epilog,
        pretty_exceptions_enable=False,
        help=listing.__doc__,
    )

    @functools.wraps(listing)
    def run(**given: Any) -> None:
        context: typer.Context = given["ctx"]
        if context.invoked_subcommand is None:
            listing(**given)
        else:
            context.obj = flags_of(given)

    run.__signature__ = inspect.signature(listing)  # type: ignore[attr-defined]
    group.callback()(run)
    for name, subcommand in subcommands.items():
        settings = {"ignore_unknown_options": name in negative}
        group.command(name, cls=help.PlainTextCommand, epilog=epilog, context_settings=settings)(subcommand)
    return group
