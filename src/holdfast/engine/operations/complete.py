"""Verbs that complete a chain's current job from outside."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record
from holdfast.engine.operations.attempts import Settled
from holdfast.engine.operations.operation import Operation


class Step(msgspec.Struct, frozen=True):
    """One step of an external completion: the current job ends with an output, or with a continuation."""

    output: bytes | None = None
    continuation: NewJob | None = None

    def __repr__(self) -> str:
        """Without the payload: a step may appear in the text of an error."""
        return f"Step(continuation={self.continuation!r})"


class LockChain(Operation[Record], frozen=True):
    """The chain's current (last) job, locked until the transaction ends where the store has such locks.

    Raises ChainNotFound.
    """

    verb: ClassVar = "lock"
    chain_id: str


class Complete(Operation[Settled], frozen=True):
    """Finish the chain's current job from outside, and the steps that follow from it, whoever runs it.

    Written only if `job_id` is still the chain's current job and unfinished, else AlreadyCompleted is raised;
    a chain that is gone raises ChainNotFound. A continuation that would wait for its own chain, directly or through
    other chains, raises DependencyCycle. Of any number of callers exactly one wins.
    """

    verb: ClassVar = "complete"
    chain_id: str
    job_id: str
    steps: tuple[Step, ...]
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()
