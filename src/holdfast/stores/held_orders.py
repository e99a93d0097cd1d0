"""What `holdfast doctor` says about failed jobs that hold orders. It is the same for every store."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.lanes import SEPARATOR
from holdfast.engine.operations import Finding

SHOWN = 20
"""How many such jobs are listed."""


def findings(held: Iterable[tuple[str, str]]) -> list[Finding]:
    """One finding for each of these pairs of lane and job."""
    found: list[Finding] = []
    for lane, job_id in held:
        name, _, key = lane.partition(SEPARATOR)
        where = f"order {name!r}, key {key!r}" if key else f"order {name!r}"
        found.append(
            Finding("warning", "held order", f"job {job_id} failed and holds {where}: retry, delete or skip it")
        )
    return found
