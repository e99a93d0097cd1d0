"""Encodes values as JSON and decodes them, without any change of the value.

There is one codec per annotation. It encodes a value, decodes the result by the annotation, and compares both. A value
that differs is refused. So a value of the wrong type is refused where it is given, and every payload can be read.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from msgspec import inspect

from holdfast.codec.annotations import has_abstract_sequence, members, name_of, unenforced
from holdfast.codec.storable_values import (
    DEFAULT_LIMIT,
    ESCAPED_NUL,
    MAX_DEPTH,
    SHORT,
    difference,
    exceeds_limits,
    may_be_unstorable,
    maybe_naive,
    too_deep,
    unstorable,
)
from holdfast.errors import PayloadRefused

_INPUT = re.compile(r",? ?input_value=.*, input_type=\w+", re.DOTALL)
"""The value in an error message of pydantic."""
_ENUM = re.compile(r"(Invalid enum value) .*?(?= - at `|$)", re.DOTALL)
"""The value in an error message of msgspec."""

_RECORDS = "use a dataclass, a TypedDict, a msgspec Struct or a pydantic model"


class WrongType(PayloadRefused):
    """A value that is not of the annotated type."""


class _Unwritable(TypeError):
    """A value, or a part of it, has a type that cannot be written as JSON."""

    def __init__(self, value: object) -> None:
        self.value = value
        advice = "" if type(value).__module__ == "builtins" else f"; {_RECORDS}"
        super().__init__(f"{_kind(value)} cannot be written as JSON{advice}")


class Codec(Protocol):
    """Encodes values of one type as bytes, and decodes them."""

    def encode(self, value: Any, /) -> bytes:
        """The value as a payload. Raises PayloadRefused if decoding would not return the same value."""
        ...

    def decode(self, payload: bytes, /) -> Any:
        """The value of a payload. Raises PayloadRefused if it does not have the annotated type."""
        ...


def codec_for(annotation: Any, *, limit: int = DEFAULT_LIMIT) -> Codec:
    """The codec of an annotation. Raises TypeError if values of that type cannot be stored."""
    try:
        return TypeCodec(annotation, limit=limit)
    except TypeError:
        # Imported here to avoid a circular import.
        from holdfast.codec.unions import UnionCodec

        if len(members(annotation)) < 2:
            raise
        return UnionCodec(annotation, limit=limit)


def plain(payload: bytes) -> Any:
    """A payload as plain JSON values, for readers that do not know its type."""
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PayloadRefused(f"not a payload: {error}") from error


class TypeCodec:
    """The codec of a type that msgspec supports, or of a pydantic model."""

    def __init__(self, annotation: Any, *, limit: int = DEFAULT_LIMIT) -> None:
        self.annotation = annotation
        self.limit = limit
        self._properties = properties_of(annotation)
        self._simple = self._properties == TypeProperties()
        self._short = min(SHORT, limit + 1) if self._simple else 0
        """Bytes. Most outputs are shorter, and need no call of `is_safe`."""
        self._sequences = has_abstract_sequence(annotation)
        self.decoder = msgspec.json.Decoder[Any](annotation, dec_hook=_read_custom)

    def encode(self, value: Any, /) -> bytes:
        try:
            payload = ENCODER.encode(value)
            if self.decoder.decode(payload) == value and (
                (len(payload) < self._short and ESCAPED_NUL not in payload) or self.is_safe(payload, value)
            ):
                return payload
        except Exception:  # noqa: S110 - the slow path reports the reason
            pass
        return self._encode_slowly(value)

    def is_safe(self, payload: bytes, value: Any) -> bool:
        """Whether the payload is certainly storable. False: the slow path decides."""
        if len(payload) > self.limit or may_be_unstorable(payload):
            return False
        properties = self._properties
        return self._simple or (
            properties.comparable
            and (properties.bounded or not too_deep(payload))
            and not (properties.dated and maybe_naive(payload))
            and not ((properties.custom or properties.timed) and unstorable(value) is not None)
        )

    def decode(self, payload: bytes, /) -> Any:
        try:
            return self.decoder.decode(payload)
        except (ValueError, RecursionError) as error:
            # Without a cause: its text may contain a value of the payload.
            raise WrongType(f"does not fit {name_of(self.annotation)}: {_tidy(error)}") from None

    def _encode_slowly(self, value: Any) -> bytes:
        try:
            payload = ENCODER.encode(value)
        except RecursionError as error:
            raise PayloadRefused(f"nested deeper than {MAX_DEPTH} levels") from error
        except Exception as error:
            raise self._refusal(value, error) from error
        if reason := exceeds_limits(payload, self.limit) or unstorable(value) or unstorable(plain(payload)):
            raise PayloadRefused(reason)
        try:
            back = self.decoder.decode(payload)
        except Exception as error:
            raise self._refusal(value, error) from error
        found = difference(value, back, sequences=self._sequences)
        if found is None:
            return payload
        if not found.path:
            raise self._wrong_type(value)
        raise WrongType(
            f"expected {name_of(self.annotation)}; at {found.path.strip()},"
            f" {_kind(found.sent)} would come back as {_kind(found.back)}"
        )

    def _refusal(self, value: Any, error: Exception) -> PayloadRefused:
        if reason := unstorable(value):
            return PayloadRefused(reason)
        if isinstance(error, _Unwritable):
            if self.annotation in (Any, object):
                return WrongType(str(error))
            return (
                self._wrong_type(value)
                if error.value is value
                else WrongType(f"expected {name_of(self.annotation)}: {error}")
            )
        whole = isinstance(error, msgspec.ValidationError) and " - at `" not in str(error)
        other_class = isinstance(self.annotation, type) and type(value) is not self.annotation
        if whole and (other_class or ", got `" in str(error)):
            return self._wrong_type(value)
        return WrongType(f"expected {name_of(self.annotation)}: {_tidy(error)}")

    def _wrong_type(self, value: Any) -> WrongType:
        if self.annotation in (Any, object):
            return WrongType(
                f"{_kind(value)} is no plain JSON value; annotate it with its type to have it kept as such"
            )
        return WrongType(f"expected {name_of(self.annotation)}, got {_kind(value)}")


@dataclass(slots=True)
class TypeProperties:
    """What holds for all values of a type."""

    dated: bool = False
    """Values may contain a datetime."""
    timed: bool = False
    """Values may contain a time. A time in a zone without a fixed offset equals the same time without the zone."""
    custom: bool = False
    """Values may contain a class with its own JSON form, so the JSON text does not show all problems."""
    bounded: bool = True
    """The depth of values is limited by the type."""
    comparable: bool = True
    """`==` compares every field."""


def properties_of(annotation: Any) -> TypeProperties:
    """The properties of a type. Raises TypeError if a part of it cannot be stored."""
    try:
        root = inspect.type_info(annotation)
    except Exception as error:
        hint = ""
        if "unions may not contain" in str(error):
            hint = "; a union whose members look alike in JSON must be the whole type of a parameter or return value"
        raise TypeError(f"{name_of(annotation)} cannot be kept as JSON: {_tidy(error)}{hint}") from error
    if (constraint := unenforced(annotation)) is not None:
        raise TypeError(
            f"{name_of(annotation)} has the constraint {constraint!r}, which is enforced in pydantic models only; "
            "use msgspec.Meta in its place, or a pydantic model"
        )
    properties = TypeProperties()
    _inspect(root, properties, ())
    return properties


def _inspect(part: Any, properties: TypeProperties, above: tuple[int, ...]) -> None:
    if id(part) in above:
        properties.bounded = False
        return
    match part:
        case inspect.AnyType():
            properties.bounded = False
        case inspect.DateTimeType():
            properties.dated = True
        case inspect.TimeType():
            properties.timed = True
        case inspect.DataclassType(cls=cls) if dataclasses.is_dataclass(cls):
            properties.comparable = properties.comparable and all(each.compare for each in dataclasses.fields(cls))
        case inspect.CustomType(cls=cls):
            if cls is not object and not _is_model(cls):
                raise TypeError(f"{name_of(cls)} cannot be kept as JSON; {_RECORDS}")
            properties.custom = properties.custom or cls is not object
            properties.bounded = False
        case _:
            pass
    if len(above) > MAX_DEPTH // 2:
        properties.bounded = False
        return
    for inner in _inner_types(part):
        _inspect(inner, properties, (*above, id(part)))


def _inner_types(part: Any) -> list[Any]:
    found: list[Any] = []
    for name in part.__struct_fields__:
        value: Any = getattr(part, name)
        found += value if isinstance(value, tuple) else [value]
    types = (each.type if isinstance(each, inspect.Field) else each for each in found)
    return [each for each in types if isinstance(each, inspect.Type)]


def _is_model(cls: Any) -> bool:
    # An application that uses a model has imported pydantic. Others do not need it.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def _write_custom(value: Any) -> Any:
    if _is_model(type(value)):
        try:
            return msgspec.Raw(value.model_dump_json(by_alias=True, warnings="error").encode())
        except ValueError as error:
            raise ValueError(_INPUT.sub("", str(error))) from None
    raise _Unwritable(value)


def _read_custom(cls: type[Any], value: Any) -> Any:
    if cls is object:
        return value
    # As JSON instead of objects: a strict model accepts the text of a datetime only from JSON.
    try:
        return cls.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_without_input(error)) from None


def _without_input(error: Any) -> str:
    """The text of a pydantic error without the values: they are parts of the payload."""
    if not hasattr(error, "errors"):
        return str(error)
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return f"{error.title}: " + "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}" if each["loc"] else str(each["msg"]) for each in found
    )


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _tidy(error: BaseException) -> str:
    text = str(error).split("\n    For further information", 1)[0]
    text = _ENUM.sub(r"\1", text)
    text = text.replace("`", "").replace(" - at $", " at ").replace("\n", " ")
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


ENCODER = msgspec.json.Encoder(enc_hook=_write_custom)
