"""Unions whose members have the same JSON form, such as `str | UUID` or two dataclasses."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from holdfast.codec.annotations import members, name_of
from holdfast.codec.codec import ENCODER, TypeCodec, WrongType, plain
from holdfast.codec.storable_values import DEFAULT_LIMIT, difference
from holdfast.errors import PayloadRefused


class UnionCodec:
    """The codec of a union whose members cannot always be distinguished by the JSON text.

    A value is written without a tag if decoding by the first matching member returns the same value. Otherwise it is
    written with the name of its member, as `{"$UUID": "..."}`. So every value is decoded unchanged, and common values
    have their usual JSON form.
    """

    def __init__(self, annotation: Any, *, limit: int = DEFAULT_LIMIT) -> None:
        self.annotation = annotation
        self._members = {f"${name_of(member)}": TypeCodec(member, limit=limit) for member in members(annotation)}
        if len(self._members) < len(members(annotation)):
            raise TypeError(f"{name_of(annotation)} has two members with the same name")

    def encode(self, value: Any, /) -> bytes:
        refusals: list[PayloadRefused] = []
        for tag, codec in self._members.items():
            try:
                payload = codec.encode(value)
            except PayloadRefused as refusal:
                refusals.append(refusal)
                continue
            if self._reads_back(payload, value):
                return payload
            tagged = ENCODER.encode({tag: msgspec.Raw(payload)})
            if self._reads_back(tagged, value):
                return tagged
        for reason in refusals:
            if not isinstance(reason, WrongType):
                raise reason
        raise WrongType(f"expected {name_of(self.annotation)}, got {type(value).__name__}")

    def decode(self, payload: bytes, /) -> Any:
        found = plain(payload)
        if isinstance(found, dict) and len(wrapped := cast("dict[str, Any]", found)) == 1:
            ((tag, inner),) = wrapped.items()
            if tag in self._members:
                return self._members[tag].decode(ENCODER.encode(inner))
        for codec in self._members.values():
            try:
                value = codec.decode(payload)
            except WrongType:
                continue
            if plain(ENCODER.encode(value)) == found:
                return value
        raise WrongType(f"does not fit {name_of(self.annotation)}")

    def _reads_back(self, payload: bytes, value: Any) -> bool:
        try:
            back = self.decode(payload)
        except PayloadRefused:
            return False
        return isinstance(value, type(back)) and difference(value, back, sequences=False) is None
