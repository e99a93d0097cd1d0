"""Inputs that this worker cannot decode. They are not errors of the handler."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from holdfast.core.record import Record
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import AnyJobType


class InputMismatch(Exception):
    """The stored input, or a blocker's output, does not match this worker's signatures. The handler was not called."""

    def __init__(self, refusal: PayloadRefused) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))


def arguments_of(record: Record, job_type: AnyJobType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The handler's arguments. Raises InputMismatch if the input does not match the signature in this process."""
    # This runs for every job, so it avoids the cost of the context manager below.
    try:
        return job_type.arguments(record.input)  # not of the signature: a queue has its own codec
    except PayloadRefused as refusal:
        raise InputMismatch(refusal) from refusal


@contextmanager
def reading_input() -> Generator[None]:
    """Turn a PayloadRefused inside the block into an InputMismatch: a newer program may have written the value."""
    try:
        yield
    except PayloadRefused as refusal:
        raise InputMismatch(refusal) from refusal
