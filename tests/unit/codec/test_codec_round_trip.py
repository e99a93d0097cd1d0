"""A codec decodes random values unchanged, or refuses them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.codec.codec import codec_for, plain
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import Jobs

KEEPABLE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
MOMENTS = st.datetimes(timezones=st.timezones())


@dataclass
class Everything:
    number: int
    ratio: float
    text: str
    data: bytes
    moment: datetime
    day: date
    clock: time
    span: timedelta
    id: UUID
    amount: Decimal
    pairs: dict[int, tuple[str, ...]]
    names: frozenset[str]
    maybe: list[int | str | None] | None


EVERYTHING = st.builds(
    Everything,
    number=st.integers(-(2**63), 2**63 - 1),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    text=KEEPABLE_TEXT,
    data=st.binary(),
    moment=st.datetimes(timezones=st.just(UTC)),
    day=st.dates(),
    clock=st.times(),
    span=st.timedeltas(),
    id=st.uuids(),
    amount=st.decimals(allow_nan=False, allow_infinity=False),
    pairs=st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.lists(KEEPABLE_TEXT).map(tuple)),
    names=st.frozensets(KEEPABLE_TEXT),
    maybe=st.none() | st.lists(st.none() | KEEPABLE_TEXT | st.integers(0, 9)),
)

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.uuids() | st.datetimes() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.none(), inner)
    ),
    max_leaves=8,
)

few = settings(max_examples=40, deadline=None)
jobs = Jobs()


@jobs.job
def record(everything: Everything, anything: Any, *, either: str | bytes | UUID = "") -> None: ...


@few
@given(EVERYTHING)
def test_a_typed_value_is_decoded_unchanged(value: Everything) -> None:
    codec = codec_for(Everything)

    assert codec.decode(codec.encode(value)) == value


@few
@given(MOMENTS)
def test_a_datetime_in_any_zone_is_decoded_unchanged_or_refused(moment: datetime) -> None:
    codec = codec_for(datetime)

    try:
        payload = codec.encode(moment)
    except PayloadRefused:
        # Some zones had offsets with seconds, and times outside the years 1 to 9999 have no UTC form.
        offset = moment.utcoffset() or timedelta(0)
        assert offset % timedelta(minutes=1) or moment.year in (1, 9999)
    else:
        assert codec.decode(payload) - moment.astimezone(UTC) == timedelta(0)


@few
@given(ODD)
def test_any_value_is_decoded_unchanged_or_refused(value: Any) -> None:
    codec = codec_for(Any)

    try:
        payload = codec.encode(value)
    except PayloadRefused:
        return

    assert codec.decode(payload) == value == plain(payload)
    assert b"\\u0000" not in payload or "\\u0000" in repr(value)


@few
@given(EVERYTHING, st.lists(st.integers(0, 5)), KEEPABLE_TEXT | st.binary() | st.uuids())
def test_the_function_is_called_with_the_bound_arguments(everything: Everything, anything: Any, either: Any) -> None:
    bound = record.bind(everything, anything=anything, either=either)

    assert record.arguments(bound.input) == ((everything, anything), {"either": either})


@few
@given(ODD)
def test_binding_a_wrong_value_raises_only_payload_refused(value: Any) -> None:
    try:
        bound = record.bind(value, value)
    except PayloadRefused:
        return

    raise AssertionError(f"{msgspec.json.decode(bound.input)} was accepted")
