"""Bulk actions as a dashboard shows them: what was confirmed, how far it is, and what was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from holdfast.bulk.actions import Action
from holdfast.bulk.names import BATCH, BULK, BULK_TYPES
from holdfast.bulk.records import BulkReport, BulkRequest, Skip, Tally
from holdfast.client.client import Client
from holdfast.core.job import Chain
from holdfast.core.record import Status

LISTED = 20
"""How many bulk actions a list contains."""


@dataclass(frozen=True, slots=True)
class BulkAction:
    """One bulk action. `position` members of `total` were handled."""

    id: str
    action: Action
    user: str
    query: str
    reason: str | None
    capped: bool
    status: Status
    created_at: datetime
    finished_at: datetime | None
    total: int
    position: int
    done: int
    skipped: int
    skips: Sequence[Skip]
    error: str | None

    @property
    def fraction(self) -> float:
        return self.position / self.total if self.total else 1.0


async def bulk_actions(client: Client) -> list[BulkAction]:
    """The newest bulk actions, at most LISTED."""
    page = await client.list_chains(type=sorted(BULK_TYPES), limit=LISTED)
    return [_shown(chain) for chain in page.items]


async def bulk_action(client: Client, id: str) -> BulkAction | None:
    """The bulk action whose chain has this id."""
    chain = await client.get(id)
    return _shown(chain) if chain is not None and chain.record.first.type == BULK else None


def _shown(chain: Chain[Any]) -> BulkAction:
    first, last = chain.record.first, chain.record.last
    request = msgspec.json.decode(first.input, type=dict[str, BulkRequest])["request"]
    tally = Tally(request.total)
    if last.output is not None:
        report = msgspec.json.decode(last.output, type=BulkReport)
        tally = Tally(report.total, report.total, report.done, report.skipped, report.skips)
    elif last.type == BATCH:
        tally = msgspec.json.decode(last.input, type=dict[str, Tally])["tally"]
    return BulkAction(
        id=chain.id,
        action=request.action,
        user=request.user,
        query=request.query,
        reason=request.reason,
        capped=request.capped,
        status=chain.status,
        created_at=chain.created_at,
        finished_at=chain.finished_at,
        total=tally.total,
        position=tally.position,
        done=tally.done,
        skipped=tally.skipped,
        skips=tally.skips,
        error=None if chain.error is None else str(chain.error),
    )
