"""Operations that complete the current job of a chain from outside."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record
from holdfast.engine.operations.attempts import Settled
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation


class Completion(msgspec.Struct, frozen=True):
    """How the current job ends: with an output, or with a continuation."""

    output: bytes | None = None
    continuation: NewJob | None = None

    def __repr__(self) -> str:
        """Without the payload: a completion may appear in the text of an error."""
        return f"Completion(continuation={self.continuation!r})"


class LockChain(Operation[Record], frozen=True):
    """Return the current (last) job of the chain. A store with row locks locks it until the transaction ends.

    Raises ChainNotFound.
    """

    verb: ClassVar = "lock"
    repeatable: ClassVar = False
    chain_id: str


class Complete(Operation[Settled], frozen=True):
    """Complete the current job of a chain from outside, also while a worker runs it.

    The first completion ends the current job. Each later one ends the continuation of the completion before it.
    Of several callers exactly one succeeds: AlreadyCompleted is raised unless `job_id` is still the current job of the
    chain and unfinished. Raises ChainNotFound for an unknown chain, and DependencyCycle for a continuation that would
    wait for its own chain, directly or through other chains.
    """

    verb: ClassVar = "complete"
    repeatable: ClassVar = False
    chain_id: str
    job_id: str
    completions: tuple[Completion, ...]
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()
    audit: Audit | None = None
