"""Values as JSON text and back, exactly, or not at all.

A codec is made once per annotation. It writes a value, reads it back as the annotation says, and lets it pass only
if what came back is what was given. So an ill-typed value is refused where it is handed over, not where it is used,
and whatever is stored can be read.
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
from holdfast.codec.payload import (
    DEFAULT_LIMIT,
    MAX_DEPTH,
    difference,
    flaw,
    maybe_naive,
    outsized,
    suspect,
    too_deep,
)
from holdfast.errors import PayloadRefused

_INPUT = re.compile(r",? ?input_value=.*, input_type=\w+", re.DOTALL)
"""The value in an error of pydantic's."""
_ENUM = re.compile(r"(Invalid enum value) .*?(?= - at `|$)", re.DOTALL)
"""The value in an error of msgspec's."""

_RECORDS = "use a dataclass, a TypedDict, a msgspec Struct or a pydantic model"


class Misfit(PayloadRefused):
    """A value that is not of the annotated type."""


class _Unwritable(TypeError):
    """A value, alone or inside another, that is of no kind that JSON has or that can be told from it."""

    def __init__(self, value: object) -> None:
        self.value = value
        advice = "" if type(value).__module__ == "builtins" else f"; {_RECORDS}"
        super().__init__(f"{_kind(value)} cannot be written as JSON{advice}")


class Codec(Protocol):
    """Writes values of one type as bytes, and reads them back."""

    def encode(self, value: Any, /) -> bytes:
        """The value as a payload. PayloadRefused if it would not come back the same."""
        ...

    def decode(self, payload: bytes, /) -> Any:
        """The value of a payload. PayloadRefused if it is not of the annotated type."""
        ...


def codec_for(annotation: Any, *, limit: int = DEFAULT_LIMIT) -> Codec:
    """The codec of an annotation. TypeError if values of that type cannot be kept."""
    try:
        return TypeCodec(annotation, limit=limit)
    except TypeError:
        # Importing here: a choice is made of codecs.
        from holdfast.codec.unions import ChoiceCodec

        if len(members(annotation)) < 2:
            raise
        return ChoiceCodec(annotation, limit=limit)


def plain(payload: bytes) -> Any:
    """A payload as plain JSON values, for readers that do not know its type."""
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PayloadRefused(f"not a payload: {error}") from error


class TypeCodec:
    """The codec of a type that msgspec understands, pydantic models included."""

    def __init__(self, annotation: Any, *, limit: int = DEFAULT_LIMIT) -> None:
        self.annotation = annotation
        self.limit = limit
        self._traits = survey(annotation)
        self._simple = self._traits == Traits()
        self._sequences = has_abstract_sequence(annotation)
        self.decoder = msgspec.json.Decoder[Any](annotation, dec_hook=_read_foreign)

    def encode(self, value: Any, /) -> bytes:
        try:
            payload = ENCODER.encode(value)
            if self.decoder.decode(payload) == value and self.sound(payload, value):
                return payload
        except Exception:  # noqa: S110 - told apart, and named, by the slow way
            pass
        return self._encode_slowly(value)

    def sound(self, payload: bytes, value: Any) -> bool:
        """Whether nothing about a payload needs a closer look."""
        if len(payload) > self.limit or suspect(payload):
            return False
        traits = self._traits
        return self._simple or (
            traits.comparable
            and (traits.bounded or not too_deep(payload))
            and not (traits.dated and maybe_naive(payload))
            and not ((traits.foreign or traits.timed) and flaw(value) is not None)
        )

    def decode(self, payload: bytes, /) -> Any:
        try:
            return self.decoder.decode(payload)
        except (ValueError, RecursionError) as error:
            # Without a cause: its text may contain a value of the payload.
            raise Misfit(f"does not fit {name_of(self.annotation)}: {_tidy(error)}") from None

    def _encode_slowly(self, value: Any) -> bytes:
        try:
            payload = ENCODER.encode(value)
        except RecursionError as error:
            raise PayloadRefused(f"nested deeper than {MAX_DEPTH} levels") from error
        except Exception as error:
            raise self._refusal(value, error) from error
        if reason := outsized(payload, self.limit) or flaw(value) or flaw(plain(payload)):
            raise PayloadRefused(reason)
        try:
            back = self.decoder.decode(payload)
        except Exception as error:
            raise self._refusal(value, error) from error
        found = difference(value, back, sequences=self._sequences)
        if found is None:
            return payload
        if not found.path:
            raise self._misfit(value)
        raise Misfit(
            f"expected {name_of(self.annotation)}; at {found.path.strip()},"
            f" {_kind(found.sent)} would come back as {_kind(found.back)}"
        )

    def _refusal(self, value: Any, error: Exception) -> PayloadRefused:
        if reason := flaw(value):
            return PayloadRefused(reason)
        if isinstance(error, _Unwritable):
            if self.annotation in (Any, object):
                return Misfit(str(error))
            return (
                self._misfit(value) if error.value is value else Misfit(f"expected {name_of(self.annotation)}: {error}")
            )
        whole = isinstance(error, msgspec.ValidationError) and " - at `" not in str(error)
        alien = isinstance(self.annotation, type) and type(value) is not self.annotation
        if whole and (alien or ", got `" in str(error)):
            return self._misfit(value)
        return Misfit(f"expected {name_of(self.annotation)}: {_tidy(error)}")

    def _misfit(self, value: Any) -> Misfit:
        if self.annotation in (Any, object):
            return Misfit(f"{_kind(value)} is no plain JSON value; annotate it with its type to have it kept as such")
        return Misfit(f"expected {name_of(self.annotation)}, got {_kind(value)}")


@dataclass(slots=True)
class Traits:
    """What is known of all values of a type."""

    dated: bool = False
    """Some datetime may be inside."""
    timed: bool = False
    """Some time of day may be inside. One in a zone without a fixed offset equals the same time without the zone."""
    foreign: bool = False
    """Some class that writes itself may be inside, so the text tells nothing about its values."""
    bounded: bool = True
    """Values nest only as deep as the type does."""
    comparable: bool = True
    """`==` looks at every field."""


def survey(annotation: Any) -> Traits:
    """Look through a type once. TypeError if some part of it cannot be kept."""
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
    traits = Traits()
    _survey(root, traits, ())
    return traits


def _survey(part: Any, traits: Traits, above: tuple[int, ...]) -> None:
    if id(part) in above:
        traits.bounded = False
        return
    match part:
        case inspect.AnyType():
            traits.bounded = False
        case inspect.DateTimeType():
            traits.dated = True
        case inspect.TimeType():
            traits.timed = True
        case inspect.DataclassType(cls=cls) if dataclasses.is_dataclass(cls):
            traits.comparable = traits.comparable and all(each.compare for each in dataclasses.fields(cls))
        case inspect.CustomType(cls=cls):
            if cls is not object and not _is_model(cls):
                raise TypeError(f"{name_of(cls)} cannot be kept as JSON; {_RECORDS}")
            traits.foreign = traits.foreign or cls is not object
            traits.bounded = False
        case _:
            pass
    if len(above) > MAX_DEPTH // 2:
        traits.bounded = False
        return
    for inner in _inner_types(part):
        _survey(inner, traits, (*above, id(part)))


def _inner_types(part: Any) -> list[Any]:
    found: list[Any] = []
    for name in part.__struct_fields__:
        value: Any = getattr(part, name)
        found += value if isinstance(value, tuple) else [value]
    types = (each.type if isinstance(each, inspect.Field) else each for each in found)
    return [each for each in types if isinstance(each, inspect.Type)]


def _is_model(cls: Any) -> bool:
    # Whoever passes a model has imported pydantic; nobody else should have to.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def _write_foreign(value: Any) -> Any:
    if _is_model(type(value)):
        try:
            return msgspec.Raw(value.model_dump_json(by_alias=True, warnings="error").encode())
        except ValueError as error:
            raise ValueError(_INPUT.sub("", str(error))) from None
    raise _Unwritable(value)


def _read_foreign(cls: type[Any], value: Any) -> Any:
    if cls is object:
        return value
    # As JSON and not as objects: a strict model takes the text of a datetime only from JSON.
    try:
        return cls.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_without_input(error)) from None


def _without_input(error: Any) -> str:
    """The text of an error of pydantic's without the values, which are parts of the payload."""
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


ENCODER = msgspec.json.Encoder(enc_hook=_write_foreign)
