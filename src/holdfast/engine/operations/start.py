"""Verbs that create chains."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord
from holdfast.engine.operations.operation import Operation


class Started(NamedTuple):
    """A chain after `start`: made now, or found by its key or id."""

    chain: ChainRecord
    deduplicated: bool


class Start(Operation[list[Started]], frozen=True):
    """Create chains, in order, all or none; answers are in the same order.

    A job with a key is matched against the chains of its type with that key: of those in its dedup scope, created
    within its window and not excluded, the newest is the answer and nothing is written for that item. Of any number
    of callers with one key, exactly one creates. A job whose id exists already is answered with that chain, so
    sending the same start again is safe. Blockers that are not completed make the job blocked.
    An unknown blocker raises ChainNotFound.
    """

    verb: ClassVar = "start"
    jobs: tuple[NewJob, ...]


class Preview(Operation[list[ChainRecord | None]], frozen=True):
    """The chains that `Start` would find rather than make, in order; None where it would make one. Writes nothing.

    Only stores whose transactions are buffered need it.
    """

    verb: ClassVar = "preview"
    writes: ClassVar = False
    jobs: tuple[NewJob, ...]
