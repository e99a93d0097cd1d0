"""Every type that a signature may name, through bind, store, handler, store and wait."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import NotRequired, TypedDict
from uuid import UUID

import msgspec
import pydantic

from tests.conformance.client.harness import ClientHarness


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(TypedDict):
    width: int
    height: NotRequired[int]


class Blob(msgspec.Struct):
    data: bytes


class Address(pydantic.BaseModel):
    street: str
    since: date


@dataclass
class Everything:
    color: Color
    size: Size
    blob: Blob
    when: datetime
    day: date
    id: UUID
    price: Decimal
    raw: bytes
    pair: tuple[int, str]
    tags: set[str]
    maybe: int | None
    either: int | str
    by_id: dict[UUID, list[Blob]]
    inner: list[Everything] = field(default_factory=list["Everything"])


def everything(*inner: Everything) -> Everything:
    return Everything(
        color=Color.BLUE,
        size={"width": 2**63 - 1},
        blob=Blob(bytes(range(256))),
        when=datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        day=date(1, 1, 1),
        id=UUID(int=7),
        price=Decimal("1.10"),
        raw=b"\0\xff",
        pair=(-(2**63), "\u2028 \U0001f600 é"),
        tags={"a", "b"},
        maybe=None,
        either="5",
        by_id={UUID(int=1): [Blob(b"")]},
        inner=list(inner),
    )


async def test_every_type_comes_back_as_it_was(harness: ClientHarness) -> None:
    address = Address(street="Sesame", since=date(1969, 11, 10))
    given = everything(everything())
    seen: list[tuple[Everything, Address]] = []

    @harness.jobs.job
    async def echo(value: Everything, address: Address) -> Everything:
        seen.append((value, address))
        return value

    chain = await harness.client.start(echo.bind(given, address))
    await harness.drain()

    assert seen == [(given, address)]
    output = await harness.client.wait(chain, timeout=60)
    assert output == given
    assert str(output.price) == "1.10"
    assert output.when.utcoffset() == given.when.utcoffset()
    job = await harness.now(chain)
    assert job.input == {"value": given, "address": address}
    assert job.output == given


async def test_an_output_that_cannot_be_stored_fails_the_attempt(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def spoil(what: str) -> datetime | float | str:
        outputs: dict[str, datetime | float | str] = {
            "naive": datetime(2026, 1, 1),  # noqa: DTZ001 - the point
            "nan": float("nan"),
            "nul": "\0",
        }
        return outputs[what]

    chains = await harness.client.start_many(
        [spoil.bind(what).options(max_attempts=1) for what in ("naive", "nan", "nul")]
    )
    await harness.drain()

    for chain in chains:
        job = await harness.now(chain)
        assert job.status == "failed"
        assert job.error is not None
        assert job.error.type == "PayloadRefused"
