"""Types and values for the tests of codecs."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ID = UUID("0190a5c8-0000-7000-8000-000000000001")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Movie(TypedDict, total=False):
    title: str
    seen: datetime


@dataclass
class Address:
    street: str
    since: date | None = None


@dataclass
class Person:
    name: str
    address: Address
    tags: frozenset[str] = frozenset()
    born: datetime | None = None


@dataclass
class Cat:
    name: str


@dataclass
class Dog:
    name: str


@dataclass
class Horse:
    name: str
    height: int


@dataclass(eq=False)
class Unequal:
    """A class without `__eq__`."""

    value: str
    at: datetime | None = None


@dataclass
class Noted:
    note: str = field(compare=False)


@attrs.define
class Parcel:
    weight: float
    sent: datetime | None = None


class Track(msgspec.Struct):
    title: str
    length: timedelta
    at: datetime | None = None


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(alias="no")
    total: Decimal
    placed: datetime | None = None
    lines: list[str] = []


class StrictOrder(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    placed: datetime
    id: UUID
