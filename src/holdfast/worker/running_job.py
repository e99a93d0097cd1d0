"""The job for which the current code runs: in handlers, in their tasks, in threads and in child processes."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple, Protocol


class RunningJob(Protocol):
    """The attributes of a job that are available in every process."""

    @property
    def id(self) -> str: ...

    @property
    def chain_id(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def attempt(self) -> int: ...


class JobInChild(NamedTuple):
    """The job of a handler in a child process."""

    id: str
    chain_id: str
    type: str
    attempt: int


running_job: ContextVar[RunningJob | None] = ContextVar("holdfast_running_job", default=None)
"""Set while an attempt runs, if something uses it. A thread that a handler starts has it only if the handler copies its
context."""

_used = False


def use_running_job() -> ContextVar[RunningJob | None]:
    """The variable, for a module that reads it. The workers of this process set it from their next claim on.

    Until then they do not: it would add 4 % to the CPU time of a job on the memory store.
    """
    global _used
    _used = True
    return running_job


def running_job_is_used() -> bool:
    """Whether workers must set the variable."""
    return _used


child_notes: dict[str, bytes] = {}
"""Data that a plugin in a child process passes to its part in the worker's process. Sent when the handler ends."""
