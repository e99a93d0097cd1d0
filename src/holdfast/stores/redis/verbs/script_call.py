"""The script calls of a verb, each with a bounded number of items.

A verb is a plan: a generator that yields calls to send together, receives their replies, and returns the result.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holdfast.core.ids import new_token

T = TypeVar("T")

BATCH_SIZE = 100
"""Items per call. The server runs one script at a time, so a long script would delay all other clients."""
PIPELINED = 50
"""Calls that are sent without waiting for a reply in between."""


@dataclass(slots=True)
class ScriptCall:
    """A script to run. `jobs` are the ids of the jobs that it uses; `request` stays the same if it is sent again."""

    script: str
    body: Any = field(default=None, repr=False)
    jobs: Sequence[str] = ()
    payloads: Sequence[bytes] = field(default=(), repr=False)
    request: str = field(default_factory=new_token)
    resent: bool = False
    """True if the caller sent it before, as another request, and got no reply."""


ScriptPlan = Generator[Iterable[ScriptCall], list[Any], T]


def batches(items: Sequence[T], size: int = BATCH_SIZE) -> Iterator[Sequence[T]]:
    """The items in parts that are small enough for one call."""
    if len(items) <= size:
        return iter([items] if items else [])
    return (items[at : at + size] for at in range(0, len(items), size))


def pipelines(items: Sequence[T]) -> Iterator[Sequence[Sequence[T]]]:
    """The batches, in groups that may be sent together."""
    return batches(list(batches(items)), PIPELINED)
