"""Hides secrets in payloads by the names under which they are stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

MASK = "***"
_SECRET = re.compile(r"password|passwd|token|secret|authorization|cookie|api[_-]?key", re.IGNORECASE)


def masked(value: Any) -> Any:
    """The value with everything hidden that is stored under the name of a secret, at any depth."""
    match value:
        case dict():
            return {key: MASK if _SECRET.search(key) else masked(each) for key, each in _items(value)}
        case list():
            return [masked(each) for each in _elements(value)]
        case _:
            return value


def _items(value: Any) -> Sequence[tuple[str, Any]]:
    return list(value.items())


def _elements(value: Any) -> Sequence[Any]:
    return list(value)
