"""Values are decoded unchanged, or refused when they are encoded."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from holdfast.codec.codec import codec_for, plain
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


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: int


class Tree(msgspec.Struct):
    children: list[Tree] = []


ORDER = Order(no=7, total=Decimal("9.90"), lines=["tea"])


EXACT: list[tuple[Any, Any]] = [
    (int, -(2**63)),
    (int, 2**63 - 1),
    (bool, True),
    (float, 0.1),
    (float, 1e300),
    (float, 0.000012345678901234567),
    (float, 3),
    (str, ""),
    (str, "naïve 👋 \\u0000 12345678901234567890"),
    (None, None),
    (int | None, None),
    (int | str, "5"),
    (bytes, b"\x00\xff"),
    (bytearray, bytearray(b"abc")),
    (date, date(2024, 2, 29)),
    (time, time(23, 59, 59, 999999)),
    (time, time(1, 2, tzinfo=UTC)),
    (datetime, NOON),
    (datetime, NOON.replace(microsecond=1, tzinfo=timezone(timedelta(hours=-9, minutes=-30)))),
    (datetime, datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)),
    (timedelta, timedelta(days=-1, microseconds=1)),
    (UUID, ID),
    (Decimal, Decimal("1.10")),
    (Decimal, Decimal("1E+30")),
    (list[int], [1, 2]),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (set[int], {1, 2}),
    (frozenset[UUID], frozenset({ID})),
    (dict[str, list[int]], {"a": [1]}),
    (dict[int, str], {1: "a"}),
    (dict[UUID, datetime], {ID: NOON}),
    (Mapping[str, int], OrderedDict(a=1)),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (dict[Colour, Level], {Colour.BLUE: Level.LOW}),
    (Literal["a", 1], "a"),
    (Point, Point(1, 2)),
    (Movie, {"title": "Ran", "seen": NOON}),
    (Person, Person("Ada", Address("Main", date(1815, 12, 10)), frozenset({"x"}), NOON)),
    (list[Person | None], [None, Person("Ada", Address("Main"))]),
    (Noted, Noted("x")),
    (Track, Track("Intro", timedelta(seconds=90.5), NOON)),
    (Tree, Tree([Tree(), Tree([Tree()])])),
    (Parcel, Parcel(1.5, NOON)),
    (Order, ORDER),
    (Order | None, ORDER),
    (list[Order], [ORDER]),
    (StrictOrder, StrictOrder(placed=NOON, id=ID)),
    (Any, {"a": [1, 2.5, None, True, "x", {"b": {}}]}),
    (object, [1, "x"]),
    (str | UUID, ID),
    (str | UUID, str(ID)),
    (str | bytes, "abcd"),
    (str | bytes, b"abcd"),
    (date | datetime, NOON),
    (date | datetime | None, date(2024, 1, 1)),
    (Cat | Dog, Cat("Tom")),
    (Cat | Dog, Dog("Rex")),
    (Cat | Horse, Horse("Bo", 170)),
    (Order | int, ORDER),
    (Order | int, 5),
    (list[int] | tuple[int, ...], (1, 2)),
]


@pytest.mark.parametrize(("annotation", "value"), EXACT, ids=lambda each: str(each)[:40])
def test_a_value_is_decoded_unchanged(annotation: Any, value: Any) -> None:
    codec = codec_for(annotation)

    back = codec.decode(codec.encode(value))

    if isinstance(value, datetime):
        # In a repeated hour, Python considers the same time in two zones as different.
        assert back.timestamp() == value.timestamp()
    else:
        assert back == value
        assert isinstance(value, type(back)) or (annotation is float and isinstance(back, float))


def test_a_record_without_eq_is_decoded_with_the_same_fields() -> None:
    codec = codec_for(list[Unequal])

    (back,) = codec.decode(codec.encode([Unequal("x", NOON)]))

    assert (type(back), back.value, back.at) == (Unequal, "x", NOON)


def test_a_tuple_is_accepted_for_a_sequence() -> None:
    @dataclass
    class Batch:
        items: Sequence[int] = field(default=())

    assert codec_for(Sequence[int]).encode((1, 2)) == b"[1,2]"
    assert codec_for(Batch).encode(Batch((1, 2))) == b'{"items":[1,2]}'


def test_many_values_side_by_side_are_not_deep() -> None:
    rows = [{"text": "[[[{{{", "row": [index]} for index in range(500)]

    assert plain(codec_for(Any).encode(rows)) == rows


@pytest.mark.parametrize("payload", [b'"x"', b"", b"\xff", b"[" * 100_000, b'{"a":1}', b"1e400"])
def test_a_payload_that_does_not_fit_is_refused(payload: bytes) -> None:
    with pytest.raises(PayloadRefused):
        codec_for(int).decode(payload)


def test_common_members_of_a_union_are_written_without_a_tag() -> None:
    codec = codec_for(str | UUID)

    assert codec.encode("x") == b'"x"'
    assert plain(codec.encode(ID)) == {"$UUID": str(ID)}


def test_an_unreadable_payload_is_refused_as_plain_values_too() -> None:
    assert plain(b'{"a":[1,null]}') == {"a": [1, None]}
    with pytest.raises(PayloadRefused):
        plain(b"\xff")


def test_pydantic_is_not_imported_unless_the_application_uses_it() -> None:
    code = "import sys, holdfast.registry.jobs; sys.exit('pydantic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
