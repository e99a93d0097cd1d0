"""Values that must be returned unchanged, and values that must be refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from typing import Any, TypeVar

T = TypeVar("T")

ODD: list[Any] = [
    None,
    "",
    [],
    {},
    [[], {}, [{}]],
    0,
    -0.0,
    2**63 - 1,
    -(2**63),
    9007199254740993,
    1e308,
    5e-324,
    0.1 + 0.2,
    "\u2028 \x7f \t\n\\ \" ' ; -- $1 %s :name",
    "naïve 漢字 🪢 e\u0301",
    {"": 1, " ": 2, "ключ": [True, False, None]},
    "x" * 200_000,
    {"deep": [[[[[[[[[["here"]]]]]]]]]]},
    "1",
    "null",
    "2024-02-29T23:59:60Z",
]

HOSTILE: list[str] = [
    "\x1b[2J\x1b[31mred\x1b]0;title\x07",
    "line\r\n2026-01-01 forged line of a log",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "'); drop table holdfast_job; drop schema holdfast cascade; --",
    "]] redis.call('FLUSHALL') --[[",
    "%s %(id)s {0} {id} $1 :id ${HOME} `id` $(id)",
    "\u202e\u2066reversed\u2069\u009b31m",
    "=cmd|' /C calc'!A0",
]
"""Text that is dangerous where it is displayed or executed. It may be stored, and must be treated as text only."""


def _nested() -> Any:
    value: Any = 1
    for _ in range(100):
        value = [value]
    return value


REFUSED: dict[str, Callable[[], Any]] = {
    "not a number": lambda: math.nan,
    "infinity": lambda: [math.inf],
    "NUL": lambda: "a\0b",
    "lone surrogate": lambda: "\ud800",
    "beyond 64 bits": lambda: 2**63,
    "nested too deep": _nested,
    "too large": lambda: "x" * (1 << 21),
}


def name(value: Any) -> str:
    """The name of a value in histories."""
    return repr(value)[:80]


def names() -> list[str]:
    """The names of all values, accepted and refused."""
    return [*map(name, ODD), *REFUSED]


def in_turn(rng: random.Random, values: Iterable[T]) -> Iterator[T]:
    """The values in a seeded order, repeated forever."""
    shuffled = list(values)
    rng.shuffle(shuffled)
    return cycle(shuffled)


def same(one: Any, other: Any) -> bool:
    """Equal values of equal types: 1 differs from 1.0, and -0.0 from 0.0."""
    return repr(one) == repr(other)
