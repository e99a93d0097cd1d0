"""Compares the acknowledged starts with what the cluster holds after the faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import psycopg

from ha.load import WAYS, Load


@dataclass(frozen=True, slots=True)
class Verdict:
    acknowledged: int
    lost: int
    """Acknowledged jobs that the store does not have."""
    incomplete: int
    """Acknowledged jobs in the store that are not completed."""
    repeated: int
    """Completed jobs with more than one effect."""
    without_effect: int
    """Completed jobs without an effect."""
    stray: int
    """Effects without a completed job."""

    def sound(self, *, synchronous: bool) -> bool:
        """Whether every promise was kept. Asynchronous replication may lose jobs, but never splits one."""
        broken = self.incomplete + self.repeated + self.without_effect + self.stray
        return broken == 0 and (self.lost == 0 or not synchronous)


def judge(connection: psycopg.Connection, load: Load) -> Verdict:
    acknowledged = {each.job for way in WAYS for each in load.acknowledged(way)}
    status: dict[str, str] = dict(
        connection.execute("select id, status from holdfast.job where type = 'effect'").fetchall()
    )
    effects = Counter(job for (job,) in connection.execute("select job from effect"))
    completed = {job for job, state in status.items() if state == "completed"}
    return Verdict(
        acknowledged=len(acknowledged),
        lost=len(acknowledged - status.keys()),
        incomplete=len((acknowledged & status.keys()) - completed),
        repeated=sum(effects[job] > 1 for job in completed),
        without_effect=sum(effects[job] == 0 for job in completed),
        stray=len(effects.keys() - completed),
    )


def drained(connection: psycopg.Connection) -> bool:
    row = connection.execute(
        "select count(*) from holdfast.job where status in ('pending', 'running', 'blocked')"
    ).fetchone()
    return row == (0,)
