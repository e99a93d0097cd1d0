"""The messages between a worker and its child process: calls of handlers and their ends."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.registry.bound import Bound
from holdfast.worker.running_job import JobInChild
from holdfast.worker.steps.child_steps import HandlerSuspended


class HandlerRequest(NamedTuple):
    """Call the handler of this type with this stored input."""

    number: int
    module: str
    """The module that attaches the handler. Importing the type alone may import only its declaration."""
    type: bytes
    input: bytes
    job: JobInChild | None = None
    contexts: bytes | None = None
    """Pickled functions. The child runs the handler inside the context managers that they return."""
    attempt: bytes | None = None
    """A pickled `AttemptInChild`, if the handler takes an attempt."""


class Abort(NamedTuple):
    """End the call of this number."""

    number: int
    reason: str


class HandlerReturned(NamedTuple):
    """The handler returned a value, encoded as it is stored."""

    output: bytes


class HandlerContinued(NamedTuple):
    """The handler returned the chain's next job."""

    bound: Bound[Any]


class HandlerRaised(NamedTuple):
    """The handler raised an error."""

    error: bytes | None
    """The pickled error; None if it cannot be unpickled again."""
    name: str
    message: str
    trace: str
    out_of_memory: bool


class InputRefused(NamedTuple):
    """The input does not match the signature in this process, whose code may be older or newer than the worker's."""

    message: str


class HandlerRescheduled(NamedTuple):
    """The handler raised Reschedule. `cause` is the error that it was raised from, if any."""

    delay: int
    at: int | None
    cause: HandlerRaised | None


class HandlerAborted(NamedTuple):
    """The handler ended because of an abort."""


class Noted(NamedTuple):
    """The end of the handler, with the data that plugins stored in `child_notes`."""

    reply: Reply
    notes: dict[str, bytes]


Reply = (
    HandlerReturned
    | HandlerContinued
    | InputRefused
    | HandlerRaised
    | HandlerRescheduled
    | HandlerAborted
    | HandlerSuspended
)
