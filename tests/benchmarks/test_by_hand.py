"""The worker written by hand does what it is compared for: a lost claim has no effects."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from benchmarks.by_hand.sqlite import ByHandSqlite
from benchmarks.by_hand.worker import Next, Outcome
from benchmarks.contender import Place


async def test_an_outcome_with_a_lost_claim_is_not_written_and_continues_nothing(tmp_path: Path) -> None:
    by_hand = ByHandSqlite(Place("sqlite", str(tmp_path / "jobs.db")))
    await by_hand.setup()
    await by_hand.open()
    await by_hand.load("chain", range(3))
    jobs = await by_hand.settle_and_claim([], 3)
    with sqlite3.connect(tmp_path / "jobs.db") as other:
        other.execute("update job set token = 'of another worker' where seq = ?", [jobs[0].key])
    other.close()

    following = await by_hand.settle_and_claim([Outcome(job, next=Next("second", 1)) for job in jobs], 10)

    assert [job.type for job in following] == ["second", "second"]
    assert await by_hand.left() == 3  # the lost job, which another worker has, and two that follow
    await by_hand.close()
