"""Inputs that this worker cannot read, told apart from errors of the handler."""

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
    """What to call the handler with. InputMismatch if the input does not match the type's signature here."""
    # Without the context manager below: this is called for every job.
    try:
        return job_type.arguments(record.input)
    except PayloadRefused as refusal:
        raise InputMismatch(refusal) from refusal


@contextmanager
def reading_input() -> Generator[None]:
    """Decode what a newer program may have written: a PayloadRefused inside becomes an InputMismatch."""
    try:
        yield
    except PayloadRefused as refusal:
        raise InputMismatch(refusal) from refusal
