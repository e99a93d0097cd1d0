"""Help texts that Rich does not change: brackets are printed, and flags show no value."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

_NO_VALUE = " "
"""The metavar of a flag. With an empty one Typer shows the type, which is `<bool>` for flags."""


class PlainTextCommand(TyperCommand):
    """A command whose help text is not interpreted as markup."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        _show_as_written(self)

    def get_params(self, ctx: Any) -> list[Any]:
        return [_without_value(each) for each in super().get_params(ctx)]


class PlainTextGroup(TyperGroup):
    """The group of all commands. Its help text is not interpreted as markup either."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        _show_as_written(self)

    def get_params(self, ctx: Any) -> list[Any]:
        return [_without_value(each) for each in super().get_params(ctx)]


def _show_as_written(shown: Any) -> None:
    shown.help = shown.help and escape(shown.help)
    for parameter in shown.params:
        if getattr(parameter, "help", None):
            parameter.help = escape(parameter.help)


def _without_value(parameter: Any) -> Any:
    if getattr(parameter, "is_flag", False) and parameter.metavar is None:
        parameter.metavar = _NO_VALUE
    return parameter
