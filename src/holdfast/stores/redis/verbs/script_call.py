"""What a verb asks the server: scripts to run, a bounded number of items in each.

A verb is a generator: it yields calls that may be sent together, is given their answers, and returns the operation's.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holdfast.core.ids import new_token

T = TypeVar("T")

STEP = 100
"""Items in one call: a script holds up everybody else, so it is kept short."""
PIPELINED = 50
"""Calls that are on their way together."""


@dataclass(slots=True)
class Call:
    """A script to run. `jobs` are the ids it is known to be about; `request` stays the same when it is sent again."""

    script: str
    body: Any = field(default=None, repr=False)
    jobs: Sequence[str] = ()
    payloads: Sequence[bytes] = field(default=(), repr=False)
    request: str = field(default_factory=new_token)
    again: bool = False
    """Whether it was sent before, by somebody who got no answer and asks as if anew."""


Asking = Generator[Iterable[Call], list[Any], T]


def steps(items: Sequence[T], size: int = STEP) -> Iterator[Sequence[T]]:
    """The items in pieces, each small enough for one call."""
    if len(items) <= size:
        return iter([items] if items else [])
    return (items[at : at + size] for at in range(0, len(items), size))


def bursts(items: Sequence[T]) -> Iterator[Sequence[Sequence[T]]]:
    """The pieces, as many at a time as may travel together."""
    return steps(list(steps(items)), PIPELINED)
