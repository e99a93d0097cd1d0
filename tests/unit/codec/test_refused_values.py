"""Values and types that cannot be stored are refused, with an error that shows no value."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pytest

from holdfast.codec.codec import WrongType, codec_for
from holdfast.codec.storable_values import MAX_DEPTH
from holdfast.errors import PayloadRefused
from tests.unit.codec.values import (
    ID,
    NOON,
    Address,
    Cat,
    Colour,
    Dog,
    Horse,
    Movie,
    Noted,
    Order,
    Parcel,
    Person,
    StrictOrder,
    Track,
    Unequal,
)

NAIVE = datetime(2024, 5, 1, 12)  # noqa: DTZ001 - what is refused here


class Silent:
    """A class without a JSON form."""


class Secret(pydantic.BaseModel):
    password: pydantic.SecretStr


@pytest.mark.parametrize(
    ("annotation", "value", "reason"),
    [
        (int, "5", "expected int, got str"),
        (int, True, "expected int, got bool"),
        (int, 1.0, "expected int, got float"),
        (bool, 1, "expected bool, got int"),
        (str, ID, "expected str, got UUID"),
        (str, None, "expected str, got None"),
        (None, 5, "expected None, got int"),
        (float, "1", "expected float, got str"),
        (float, 2**53 + 1, "expected float, got int"),
        (Decimal, 0.1, "expected Decimal, got float"),
        (date, NOON, "expected date, got datetime"),
        (list[int], (1, 2), "expected list[int], got tuple"),
        (list[int], [1, "x"], "expected list[int]: expected int, got str at [1]"),
        (list[str], ["a", ID], "expected list[str]; at [1], UUID would come back as str"),
        (dict[str, Any], {1: 2}, "at key 1, int would come back as str"),
        (dict[str, Any], {(1, 2): 3}, "expected dict[str, Any]"),
        (Person, Person("Ada", None), "at .address"),  # type: ignore[arg-type]
        (Cat, Dog("Rex"), "expected Cat, got Dog"),
        (Cat | Dog, Horse("Bo", 170), "expected Cat | Dog, got Horse"),
        (str | UUID, 5, "expected str | UUID, got int"),
        (Colour, "green", "expected Colour"),
        (Unequal, Unequal(5), "at .value"),  # type: ignore[arg-type]
        (list[Noted], [Noted(ID)], "at [0].note, UUID would come back as str"),  # type: ignore[arg-type]
        (Any, ID, "UUID is no plain JSON value"),
        (Any, [1, {"a": ID}], "at [1]['a'], UUID would come back as str"),
        (Any, object(), "object cannot be written as JSON"),
        (Any, [Silent()], "Silent cannot be written as JSON; use a dataclass, a TypedDict, a msgspec Struct or"),
        (int, Silent(), "expected int, got Silent"),
        (list[int], [Silent()], "expected list[int]: Silent cannot be written as JSON"),
        (Any, {1: 2}, "at key 1"),
        (Secret, Secret(password=pydantic.SecretStr("x")), "expected Secret"),
    ],
)
def test_a_value_of_another_type_is_refused(annotation: Any, value: Any, reason: str) -> None:
    with pytest.raises(WrongType) as caught:
        codec_for(annotation).encode(value)

    assert reason in str(caught.value)


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("annotation", "value", "reason"),
    [
        (int, 2**63, "beyond 64 bits"),
        (int, -(2**63) - 1, "beyond 64 bits"),
        (Any, {"a": [2**64]}, "beyond 64 bits at ['a'][0]"),
        (float, float("nan"), "nan is not a number"),
        (float | None, float("inf"), "inf is not a number"),
        (Any, [float("-inf")], "at [0]"),
        (Decimal, Decimal("NaN"), "NaN"),
        (Decimal, Decimal("sNaN"), "NaN"),
        (Parcel, Parcel(float("nan")), "at .weight"),
        (str, "a\0b", "NUL"),
        (dict[str, int], {"\0": 1}, "NUL"),
        (str, "\ud800", "lone surrogate"),
        (Cat, Cat("\udfff"), "lone surrogate at .name"),
        (str | UUID, "\0", "NUL"),
        (datetime, NAIVE, "without a time zone"),
        (datetime, NAIVE.replace(microsecond=5), "without a time zone"),
        (list[datetime | None], [None, NAIVE], "at [1]"),
        (dict[datetime, int], {NAIVE: 1}, "without a time zone"),
        (Movie, {"seen": NAIVE}, "at ['seen']"),
        (Person, Person("Ada", Address("x"), born=NAIVE), "at .born"),
        (Track, Track("x", timedelta(0), NAIVE), "at .at"),
        (Parcel, Parcel(1, NAIVE), "at .sent"),
        (Unequal, Unequal("x", NAIVE), "at .at"),
        (list[Order], [Order(no=1, total=Decimal(1), placed=NAIVE)], "at [0].placed"),
        (str, "x" * (1 << 20), "over the limit"),
    ],
)
def test_values_that_cannot_be_stored_are_refused(annotation: Any, value: Any, reason: str) -> None:
    with pytest.raises(PayloadRefused) as caught:
        codec_for(annotation).encode(value)

    assert reason in str(caught.value)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 2 * MAX_DEPTH + 2, 100_000])
def test_a_value_nested_too_deep_is_refused(levels: int) -> None:
    with pytest.raises(PayloadRefused, match="deeper than 64"):
        codec_for(Any).encode(nested(levels))


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(PayloadRefused, match="deeper than 64"):
        codec_for(Any).encode(value)


def test_the_limits_themselves_are_allowed() -> None:
    assert len(codec_for(str).encode("x" * ((1 << 20) - 2))) == 1 << 20
    assert codec_for(Any).encode(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"]" * MAX_DEPTH


@pytest.mark.parametrize(
    "annotation", [complex, type, dict[str, complex], list[str | UUID], list[Cat | Dog], Literal[b"x"]]
)
def test_a_type_that_cannot_be_stored_is_a_type_error(annotation: Any) -> None:
    with pytest.raises(TypeError, match="cannot be kept"):
        codec_for(annotation)


class Remembering(pydantic.BaseModel):
    name: str
    _secret: str | None = pydantic.PrivateAttr(default=None)


@dataclass
class Bounded:
    size: Annotated[int, pydantic.Field(gt=0)]


class BoundedModel(pydantic.BaseModel):
    size: Annotated[int, pydantic.Field(gt=0)]


def test_a_private_attribute_that_would_be_lost_is_refused() -> None:
    value = Remembering(name="a")
    codec = codec_for(Remembering)
    assert codec.decode(codec.encode(value)) == value

    value._secret = "b"  # pyright: ignore[reportPrivateUsage]

    with pytest.raises(PayloadRefused, match=r"at \._secret, str would come back as None"):
        codec.encode(value)
    with pytest.raises(PayloadRefused, match="_secret"):
        codec_for(list[Remembering]).encode([value])


@pytest.mark.parametrize("annotation", [time, time | None, list[time], dict[str, time]])
def test_a_time_in_a_zone_without_a_fixed_offset_is_refused(annotation: Any) -> None:
    value = time(12, tzinfo=ZoneInfo("Europe/Paris"))
    given: Any = {"a": value} if annotation == dict[str, time] else [value] if annotation == list[time] else value

    with pytest.raises(PayloadRefused, match="offset depends on the date"):
        codec_for(annotation).encode(given)


@pytest.mark.parametrize("kind", [datetime, time])
def test_an_offset_with_seconds_is_refused_with_the_reason(kind: Any) -> None:
    zone = timezone(timedelta(minutes=-44, seconds=-30))
    value = datetime(1970, 1, 1, tzinfo=zone) if kind is datetime else time(1, tzinfo=zone)

    with pytest.raises(PayloadRefused, match="UTC offset with seconds"):
        codec_for(kind).encode(value)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, pydantic.Field(gt=0)],
        list[Annotated[int, pydantic.Field(gt=0)]],
        Optional[Annotated[int, pydantic.Field(gt=0)]],  # noqa: UP045 - pyright knows no | here
        Annotated[str, pydantic.AfterValidator(str.upper)],
        Bounded,
    ],
)
def test_a_constraint_that_nothing_enforces_is_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match=r"msgspec\.Meta"):
        codec_for(annotation)


def test_constraints_that_are_enforced_are_accepted() -> None:
    with pytest.raises(PayloadRefused):
        codec_for(Annotated[int, msgspec.Meta(gt=0)]).encode(-1)
    with pytest.raises(PayloadRefused):
        codec_for(BoundedModel).decode(b'{"size": -1}')
    codec_for(Annotated[int, pydantic.Field(description="how many")]).encode(1)


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (StrictOrder, b'{"placed": "marked-value", "id": "marked-value"}'),
        (list[StrictOrder], b'[{"placed": "marked-value", "id": "marked-value"}]'),
        (Colour, b'"marked-value"'),
        (Literal["red", "blue"], b'"marked-value"'),
        (int, b'"marked-value"'),
        (datetime, b'"marked-value"'),
        (UUID, b'"marked-value"'),
        (Person, b'{"name": 1, "address": "marked-value"}'),
    ],
)
def test_an_error_shows_no_value_of_a_payload(annotation: Any, payload: bytes) -> None:
    with pytest.raises(WrongType) as caught:
        codec_for(annotation).decode(payload)

    assert "marked-value" not in "".join(traceback.format_exception(caught.value)).replace(repr(payload), "")


def test_an_error_shows_no_value_of_an_output() -> None:
    value = Order(no=7, total=Decimal(1))
    value.number = "marked-value"  # type: ignore[assignment]

    with pytest.raises(WrongType) as caught:
        codec_for(Order).encode(value)

    assert "marked-value" not in "".join(traceback.format_exception(caught.value))
