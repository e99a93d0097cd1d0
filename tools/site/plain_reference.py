"""The reference in plain Markdown: signatures and docstrings in place of the directives that Sphinx replaces."""

from __future__ import annotations

import importlib
import inspect
import re
from contextlib import suppress
from typing import Any

DIRECTIVE = re.compile(r"```\{eval-rst\}\n\.\. auto\w+:: ([\w.]+).*?\n.*?```", re.DOTALL)


def expanded(text: str) -> str:
    """Replace each directive by the documentation of its name."""
    return DIRECTIVE.sub(lambda found: described(found[1]), text)


def described(path: str) -> str:
    """The signature and the docstring of a name, and those of its public members."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    parts = [_entry(name, value)]
    if inspect.isclass(value):
        parts += [_entry(f"{name}.{each}", member) for each, member in inspect.getmembers(value, _documented)
                  if not each.startswith("_") and not _inherited_from_builtin(value, each)]  # fmt: skip
    return "\n\n".join(parts)


def _entry(name: str, value: Any) -> str:
    signature = ""
    # Without one: exceptions with no parameters of their own, and `Bound`, which only `bind` makes.
    with suppress(NameError, TypeError, ValueError):
        signature = str(inspect.signature(value)) if callable(value) else ""
    return f"```python\n{name}{signature}\n```\n\n{inspect.getdoc(value) or ''}".rstrip()


def _documented(member: Any) -> bool:
    return (inspect.isroutine(member) or isinstance(member, property)) and bool(member.__doc__)


def _inherited_from_builtin(owner: type, name: str) -> bool:
    defined = next((each for each in owner.__mro__ if name in vars(each)), object)
    return not defined.__module__.startswith("holdfast")
