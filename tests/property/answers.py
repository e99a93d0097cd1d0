"""Errors as results, so that they can be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.errors import HoldfastError


class Raised(NamedTuple):
    """An error as a result."""

    type: type[HoldfastError]
    attributes: dict[str, Any]


def raised(error: HoldfastError) -> Raised:
    return Raised(type(error), dict(vars(error)))
