"""What a payload may contain: values that every store keeps unchanged.

A payload is JSON text. Refused are: a datetime without a time zone, a UTC offset with seconds, a time whose zone has no
fixed offset, NaN and infinity, NUL and lone surrogates in text, integers beyond signed 64 bits, nesting deeper than 64
levels, and more bytes than the limit. Some databases keep these values, others change or refuse them. So none of them
may reach a store.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import accumulate
from typing import Any, NamedTuple, cast

import msgspec

DEFAULT_LIMIT = 1 << 20
HARD_LIMIT = 16 << 20
MAX_DEPTH = 64

# Translation tables and literal prefixes are several times faster than one regular expression.
_DIGITS_TO_ZERO = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))
SHORT = 19
"""Bytes. A shorter payload cannot contain a too large integer."""
_LONG_RUN = b"0" * SHORT
ESCAPED_NUL = b"\\u0000"
_NAIVE = re.compile(rb'T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"')
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DEPTH_CHANGE = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def may_be_unstorable(payload: bytes) -> bool:
    """Whether the text may contain a NUL or a too large integer. Cheap; True may be a false alarm, False never is."""
    if ESCAPED_NUL in payload:
        return True
    return len(payload) >= SHORT and _LONG_RUN in payload.translate(_DIGITS_TO_ZERO)


def maybe_naive(payload: bytes) -> bool:
    """Whether the text may contain a datetime without a time zone."""
    return _NAIVE.search(payload) is not None


def too_deep(payload: bytes) -> bool:
    """Whether the text nests deeper than `MAX_DEPTH` levels."""
    if len(payload) <= 2 * MAX_DEPTH or payload.count(b"[") + payload.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _TEXT.sub(b"", payload).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_DEPTH_CHANGE.__getitem__, brackets)), default=0) > MAX_DEPTH


def exceeds_limits(payload: bytes, limit: int) -> str | None:
    """Why the size or depth of the text is refused; None if it is accepted."""
    if len(payload) > limit:
        return f"{len(payload):,} bytes of JSON, over the limit of {limit:,}"
    if too_deep(payload):
        return f"nested deeper than {MAX_DEPTH} levels"
    return None


def unstorable(value: object, *, path: str = "", depth: int = 0) -> str | None:
    """Which part of a value cannot be stored, and why; None if all can."""
    reason = _unstorable_itself(value)
    if reason is None and depth > 2 * MAX_DEPTH:
        reason = f"nested deeper than {MAX_DEPTH} levels"
    if reason is not None:
        return f"{reason} at {path}" if path else reason
    return next(
        (
            found
            for segment, inner in _inside(value)
            if (found := unstorable(inner, path=path + segment, depth=depth + 1)) is not None
        ),
        None,
    )


def _unstorable_itself(value: object) -> str | None:
    match value:
        case int() if not -(2**63) <= value < 2**63:
            return "an integer beyond 64 bits"
        case float() if not math.isfinite(value):
            return f"{value} is not a number JSON can hold"
        case Decimal() if value.is_nan():
            return "NaN is not equal to itself"
        case str() if "\0" in value:
            return "text with a NUL character"
        case str() if not value.isascii() and _has_surrogate(value):
            return "text with a lone surrogate"
        case datetime() if value.utcoffset() is None:
            return "a datetime without a time zone; use an aware one, such as datetime.now(UTC)"
        case datetime() if _has_seconds(value):
            return "a UTC offset with seconds, which JSON has no form for; use value.astimezone(UTC)"
        case time() if value.tzinfo is not None and value.utcoffset() is None:
            return "a time in a zone whose offset depends on the date, so the zone would be lost; use a datetime"
        case time() if _has_seconds(value):
            return "a UTC offset with seconds, which JSON has no form for; use an offset in minutes"
        case _:
            return None


def _has_seconds(value: datetime | time) -> bool:
    """Whether the UTC offset is not a number of whole minutes. Local mean times before about 1900 are such offsets."""
    offset = value.utcoffset()
    return offset is not None and bool(offset.seconds % 60 or offset.microseconds)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _inside(value: object) -> Iterator[tuple[str, object]]:
    match value:
        case str() | bytes() | bytearray():
            return
        case Mapping():
            for key, inner in cast("Mapping[object, object]", value).items():
                yield f"[{key!r:.40}]", key
                yield f"[{key!r:.40}]", inner
        case list() | tuple() | set() | frozenset():
            for index, inner in enumerate(cast("list[object]", value)):
                yield f"[{index}]", inner
        case Enum():
            yield "", value.value
        case _:
            for name, inner in (fields_of(value) or {}).items():
                yield f".{name}", inner


def fields_of(value: object) -> dict[str, object] | None:
    """The fields of a record: a Struct, a dataclass, an attrs or pydantic object. None for anything else."""
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(kind)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name, None) for field in cast(Any, kind).__attrs_attrs__}
    if hasattr(kind, "__pydantic_fields__"):
        extra = cast("dict[str, object] | None", getattr(value, "__pydantic_extra__", None))
        # Private attributes are not part of the JSON: decoding sets them to their defaults.
        private = cast("dict[str, object] | None", getattr(value, "__pydantic_private__", None))
        return {**vars(value), **(extra or {}), **(private or {})}
    return None


class Difference(NamedTuple):
    """The first difference between a value and its decoded copy."""

    path: str
    sent: object
    back: object


def difference(sent: object, back: object, *, sequences: bool, path: str = "") -> Difference | None:
    """The first difference between two values; None if they are equivalent.

    It also compares where `==` is not enough: records without `__eq__`, and datetimes in a repeated hour, which Python
    considers different from the same time in another zone. With `sequences`, a list is equivalent to a tuple, as for
    the annotation Sequence.
    """
    if isinstance(sent, datetime) and isinstance(back, datetime):
        same = sent.utcoffset() is not None is not back.utcoffset() and sent.astimezone(UTC) == back.astimezone(UTC)
        return None if same else Difference(path, sent, back)
    pairs = _pairs(sent, back, sequences)
    if pairs is None:
        return None if _equal(sent, back) else Difference(path, sent, back)
    return next(
        (
            found
            for segment, one, other in pairs
            if (found := difference(one, other, sequences=sequences, path=path + segment)) is not None
        ),
        None,
    )


def _pairs(sent: Any, back: Any, sequences: bool) -> list[tuple[str, object, object]] | None:
    """The parts of two values to compare one by one; None if the values must be compared as a whole."""
    fields = fields_of(sent) if type(sent) is type(back) else None
    if fields is not None:
        others = fields_of(back) or {}
        return [(f".{name}", inner, others.get(name)) for name, inner in fields.items()]
    if isinstance(sent, list | tuple) and isinstance(back, list | tuple):
        alike = sequences or isinstance(sent, list) == isinstance(back, list)
        ours, theirs = cast("list[object]", sent), cast("list[object]", back)
        if alike and len(ours) == len(theirs):
            return [(f"[{index}]", *pair) for index, pair in enumerate(zip(ours, theirs, strict=True))]
    if isinstance(sent, dict) and isinstance(back, dict):
        written, read = cast("dict[object, object]", sent), cast("dict[object, object]", back)
        if written.keys() == read.keys():
            return [(f"[{key!r:.40}]", inner, read[key]) for key, inner in written.items()]
        unmatched = zip(written.keys() - read.keys(), read.keys() - written.keys(), strict=False)
        return [(f" key {key!r:.40}", key, other) for key, other in unmatched] or None
    return None


def _equal(sent: object, back: object) -> bool:
    try:
        return bool(sent == back)
    except Exception:  # a user-defined __eq__ may raise any exception; the values then count as different
        return False
