"""The checks at the end, from the data of the store and of the ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast import Job, Status, SyncClient
from holdfast.demo.ledger import entries, ordered_total
from holdfast.demo.shop import DemoChains


@dataclass(slots=True)
class Verdict:
    """The counts and the problems. The demo passed if there are no problems."""

    chains: int = 0
    completed: int = 0
    jobs: int = 0
    attempts: int = 0
    retried: int = 0
    approved: int = 0
    held_when_killed: int = 0
    recovered: int = 0
    lost: int = 0
    committed_twice: int = 0
    ordered: int = 0
    billed: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        return not self.wrong


def judge(client: SyncClient, shop: sqlite3.Connection, started: DemoChains, *, held: Sequence[Job]) -> Verdict:
    """Count everything. `held` are the jobs that the killed worker ran."""
    found = [client.get(id) for id in started.ids]
    jobs = list(_all_jobs(client))
    ledger = entries(shop)
    reports = [client.report(job.id) for job in held]
    verdict = Verdict(
        chains=len(found),
        completed=sum(chain is not None and chain.status is Status.COMPLETED for chain in found),
        jobs=len(jobs),
        attempts=sum(job.attempt for job in jobs),
        retried=sum(job.attempt > 1 for job in jobs),
        approved=sum(job.type == "approve" for job in jobs),
        held_when_killed=len(held),
        recovered=sum(
            report is not None and any(each.outcome == "lost" for each in report.attempts) for report in reports
        ),
        lost=sum(job.status is not Status.COMPLETED or job.id not in ledger for job in jobs)
        + sum(chain is None for chain in found),
        committed_twice=sum(count > 1 for count in ledger.values()),
        ordered=ordered_total(shop),
        billed=sum(chain.output or 0 for each in started.bills if (chain := _chain(client, each.id)) is not None),
    )
    verdict.wrong = list(_problems(verdict, unknown=len(ledger.keys() - {job.id for job in jobs})))
    return verdict


def _problems(verdict: Verdict, *, unknown: int) -> Iterator[str]:
    if verdict.completed != verdict.chains:
        yield f"{verdict.chains - verdict.completed} chains are not completed"
    if verdict.lost:
        yield f"{verdict.lost} jobs are lost"
    if verdict.committed_twice:
        yield f"{verdict.committed_twice} jobs committed twice"
    if unknown:
        yield f"{unknown} ledger rows belong to no job"
    if verdict.ordered != verdict.billed:
        yield f"ordered for {verdict.ordered:,}, billed for {verdict.billed:,}"
    # Without a failed attempt the demo would prove nothing.
    for what in ("held_when_killed", "recovered", "retried", "approved"):
        if not getattr(verdict, what):
            yield f"nothing was {what.replace('_', ' ')}, so this run shows nothing"
    if verdict.recovered != verdict.held_when_killed:
        yield f"{verdict.held_when_killed - verdict.recovered} jobs of the killed worker have no lost attempt on record"


def _all_jobs(client: SyncClient) -> Iterator[Job]:
    cursor: str | None = None
    while True:
        page = client.list_jobs(limit=1000, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _chain(client: SyncClient, id: str) -> Any:
    return client.get(id)
