"""Codecs: how payloads and results become bytes. Every store returns exactly the bytes that a codec wrote."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol, TypeVar

import msgspec

from holdfast.codec.codec import ENCODER, codec_for
from holdfast.codec.storable_values import HARD_LIMIT, difference
from holdfast.errors import PayloadRefused

T = TypeVar("T")


class PayloadCodec(Protocol[T]):
    """An object with these two methods: protobuf, CBOR, encryption. Both may raise any exception."""

    def encode(self, value: T, /) -> bytes: ...

    def decode(self, stored: bytes, /) -> T: ...


class JsonCodec:
    """JSON. A value that would be read back changed is refused, with the reason.

    `JsonCodec()` takes plain JSON values. `JsonCodec(Email)` takes and returns a dataclass, a TypedDict, a msgspec
    Struct, a pydantic model, or another type that a job's parameter may have.
    """

    def __init__(self, type: Any = Any) -> None:
        self._codec = codec_for(type, limit=HARD_LIMIT)

    def encode(self, value: Any, /) -> bytes:
        return self._codec.encode(value)

    def decode(self, stored: bytes, /) -> Any:
        return self._codec.decode(stored)


class MsgpackCodec:
    """MessagePack: smaller than JSON, and may contain bytes. Refuses the same values as `JsonCodec`."""

    def __init__(self, type: Any = Any) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder[Any](type)

    def encode(self, value: Any, /) -> bytes:
        try:
            stored = self._encoder.encode(value)
            back = self._decoder.decode(stored)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise PayloadRefused(f"cannot be written as MessagePack: {error}") from error
        if (found := difference(value, back, sequences=False)) is not None:
            place = f" at {found.path.strip()}" if found.path else ""
            sent, read = type(found.sent).__name__, type(found.back).__name__
            raise PayloadRefused(f"{sent}{place} would come back from MessagePack as another {read}")
        return stored

    def decode(self, stored: bytes, /) -> Any:
        try:
            return self._decoder.decode(stored)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise PayloadRefused(f"not the MessagePack that was expected: {error}") from error


def content_id(payload: Any) -> str:
    """An id made from the content: equal payloads have equal ids, in any order of their keys."""
    if isinstance(payload, bytes | bytearray):
        text = bytes(payload)
    else:
        try:
            text = msgspec.json.encode(msgspec.json.decode(ENCODER.encode(payload)), order="deterministic")
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise PayloadRefused(f"no id can be made from this content: {error}") from error
    return hashlib.sha256(text).hexdigest()[:32]
