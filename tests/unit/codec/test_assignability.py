"""Which annotations are assignable to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict

import pytest

from holdfast.codec.assignability import assignable


@dataclass
class Receipt:
    payment: str


class Refund(Receipt): ...


class Row(TypedDict):
    id: int


class Payable(Protocol):
    payment: str


Number = NewType("Number", int)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (str, str),
        (bool, float),
        (int, complex),
        (bytearray, bytes),
        (Literal["a", "b"], Literal["a"] | Literal["b"]),
        (None, type(None)),
        (Any, int),
        (int, Any),
        (int, object),
        (int, float),
        (bool, int),
        (int, int | str),
        (int | None, int | str | None),
        (Refund, Receipt),
        (Receipt, Payable),
        (Annotated[int, "metres"], int),
        (Number, int),
        (list[int], list[int]),
        (list[Any], list[int]),
        (list[int], Sequence[int]),
        (list[int], list),
        (tuple[int, ...], tuple[int, int]),
        (dict[str, Any], Row),
        (Row, Mapping[str, Any]),
        (Literal["a"], str),
        (Literal["a"], Literal["a", "b"]),
        (str, Literal["a"]),
    ],
)
def test_assignable_and_unknown_annotations_are_accepted(given: Any, wanted: Any) -> None:
    assert assignable(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (str, int),
        (None, int),
        (int | str, int),
        (int | None, int),
        (Receipt, Refund),
        (list[str], list[int]),
        (list[int], dict[str, int]),
        (int, Row),
        (Literal["a"], int),
        (Literal["c"], Literal["a", "b"]),
        (int, Literal["a"]),
    ],
)
def test_annotations_that_are_certainly_not_assignable_are_refused(given: Any, wanted: Any) -> None:
    assert not assignable(given, wanted)
