"""The options that select chains or jobs. `list`, `retry`, `cancel` and `delete` share them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, TypedDict

import typer

from holdfast.cli.times import since

Statuses = Annotated[
    list[str] | None,
    typer.Option(help="blocked, pending, scheduled, running, completed, failed or cancelled. May be repeated."),
]
Types = Annotated[list[str] | None, typer.Option(help="The type of the chain's last job. May be repeated.")]
ChainTypes = Annotated[list[str] | None, typer.Option(help="The type of the chain's first job. May be repeated.")]
Key = Annotated[str | None, typer.Option(help="The key of the chain.")]
CreatedSince = Annotated[str | None, typer.Option(metavar="TIME", help="Created since then: 2h, 7d, 2026-01-31.")]
CreatedUntil = Annotated[str | None, typer.Option(metavar="TIME", help="Created before then: 2h, 7d, 2026-01-31.")]
FailedSince = Annotated[str | None, typer.Option(metavar="TIME", help="Failed since then.")]
FinishedSince = Annotated[str | None, typer.Option(metavar="TIME", help="Completed, failed or cancelled since then.")]
ErrorText = Annotated[str | None, typer.Option(metavar="TEXT", help="A part of the error; case does not matter.")]
WorkerId = Annotated[str | None, typer.Option(help="The worker that runs the job, or completed it.")]

Group = Annotated[
    str | None, typer.Option(metavar="FINGERPRINT", help="Failed with this error: a fingerprint of holdfast errors.")
]


class FilterKeywords(TypedDict):
    """The filters of `list_chains`."""

    status: list[str] | None
    type: list[str] | None
    chain_type: list[str] | None
    key: str | None
    created_since: datetime | None
    created_until: datetime | None
    failed_since: datetime | None
    finished_since: datetime | None
    error: str | None
    worker: str | None
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class Filters:
    """What the options select. None means any."""

    status: list[str] | None = None
    type: list[str] | None = None
    chain_type: list[str] | None = None
    key: str | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    failed_since: datetime | None = None
    finished_since: datetime | None = None
    error: str | None = None
    worker: str | None = None
    group: str | None = None

    @property
    def given(self) -> bool:
        """Whether at least one option is given."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def keywords(self) -> FilterKeywords:
        """The keyword arguments of `list_chains`."""
        return FilterKeywords(
            status=self.status,
            type=self.type,
            chain_type=self.chain_type,
            key=self.key,
            created_since=self.created_since,
            created_until=self.created_until,
            failed_since=self.failed_since,
            finished_since=self.finished_since,
            error=self.error,
            worker=self.worker,
            fingerprint=self.group,
        )


NO_FILTERS = Filters()


def read_filters(
    *,
    status: Statuses = None,
    type: Types = None,
    chain_type: ChainTypes = None,
    key: Key = None,
    created_since: CreatedSince = None,
    created_until: CreatedUntil = None,
    failed_since: FailedSince = None,
    finished_since: FinishedSince = None,
    error: ErrorText = None,
    worker: WorkerId = None,
    group: Group = None,
) -> Filters:
    """The filters that these options describe."""
    return Filters(
        status=status or None,
        type=type or None,
        chain_type=chain_type or None,
        key=key,
        created_since=since(created_since),
        created_until=since(created_until),
        failed_since=since(failed_since),
        finished_since=since(finished_since),
        error=error,
        worker=worker,
        group=group,
    )


FILTER_OPTIONS = inspect.signature(read_filters, eval_str=True).parameters
