"""`--help` as it is written: brackets are brackets, and a flag takes no value."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

_NO_VALUE = " "
"""Shown where an option's value would be. Nothing at all would let Typer name a type, which for flags is `<bool>`."""


class Command(TyperCommand):
    """A command whose help shows what its author wrote."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        _show_as_written(self)

    def get_params(self, ctx: Any) -> list[Any]:
        return [_without_value(each) for each in super().get_params(ctx)]


class Group(TyperGroup):
    """The same for the group of them all."""

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
