"""Turns the arguments of a tool into the arguments of a command."""

from __future__ import annotations

from collections.abc import Sequence


def options(**given: str | int | bool | Sequence[str] | None) -> list[str]:
    """`created_since="2h"` is `--created-since=2h`; a list repeats the option; None, False and "" leave it out.

    Option and value are one argument, so that a value that begins with a dash is not read as an option.
    """
    arguments: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif isinstance(value, str | int):
            if value not in ("", False):
                arguments.append(f"{option}={value}")
        elif value is not None:
            arguments += [f"{option}={each}" for each in value]
    return arguments
