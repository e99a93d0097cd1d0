"""Converts lists to PostgreSQL array literals, with fast paths for common types."""

from __future__ import annotations

from typing import Any, cast


def literal(values: list[Any]) -> str:
    """The array literal of a list whose values have one type or are None."""
    if not values:
        return "{}"
    kind = cast("type[object]", type(values[0]))
    try:
        if kind is str:
            joined = '","'.join(values)
            if "\\" not in joined and joined.count('"') == 2 * len(values) - 2:
                return f'{{"{joined}"}}'
        elif kind is bytes:
            return '{"\\\\x' + '","\\\\x'.join([value.hex() for value in values]) + '"}'
        elif kind is int or kind is bool:
            return "{" + str(values)[1:-1].replace(" ", "").replace("None", "NULL") + "}"
    except (TypeError, AttributeError):  # the list contains None
        pass
    if values[0] is None and values.count(None) == len(values):
        return "{" + ",".join(["NULL"] * len(values)) + "}"
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    return str(value)
