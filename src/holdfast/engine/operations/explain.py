"""The operation behind `client.explain`."""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.explanation import JobFacts
from holdfast.engine.operations.operation import Operation


class Explain(Operation[JobFacts | None], frozen=True):
    """The facts that decide whether a job is claimed, from one snapshot. None if there is no such job.

    With `current`, the id of a chain means the current job of the chain. The number of rows that a store reads does not
    depend on the number of jobs: it counts the jobs ahead up to `AHEAD_LIMIT`.
    """

    verb: ClassVar = "explain"
    writes: ClassVar = False
    id: str
    current: bool = True
