"""Tables of chains, jobs and attempts. Text from jobs is made printable first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.documents import is_scheduled
from holdfast.cli.printable import printable, printable_lines, write_json
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import lasting, relative
from holdfast.core.job import AttemptReport, Chain, Job
from holdfast.core.step_report import Step

STYLES = {
    "blocked": "magenta",
    "pending": "yellow",
    "scheduled": "yellow",
    "running": "cyan",
    "completed": "green",
    "failed": "red",
    "cancelled": "bright_black",
    "lost": "red",
    "rescheduled": "yellow",
    "suspended": "yellow",
    "mismatched": "yellow",
    "released": "bright_black",
    "ok": "green",
    "warning": "yellow",
    "error": "red",
}


def text(value: object, style: str = "") -> Text:
    """Data on one line."""
    return Text("-" if value is None else printable(str(value)), style=style)


def lines(value: str, style: str = "") -> Padding:
    """Data of several lines. Each is indented, so that none looks like a line of the program."""
    return Padding(Text(printable_lines(value), style=style), (0, 0, 0, 2), expand=False)


def styled(value: str) -> Text:
    """A status, an outcome or a level, in its colour."""
    return text(value, STYLES.get(value, ""))


def status(job: Job, now: datetime) -> Text:
    """The status of a job. A pending job that is due later is shown as scheduled."""
    return styled("scheduled" if is_scheduled(job, now=now) else str(job.status))


def chains(found: Iterable[Chain[Any]]) -> Sheet:
    """Chains, one per line. The column `job` is the position of the current job in the chain, from 1."""
    now = datetime.now(UTC)
    made = Sheet("type", "status", "job", "attempt", "key", "age", "error", "id", numbers=("job", "attempt"))
    for chain in found:
        job = chain.job
        types = text(chain.type) if job.index == 0 else Text.assemble(text(chain.type), " > ", text(job.type))
        made.add_row(
            types, status(job, now), text(job.index + 1), text(job.attempt), text(chain.key),
            text(took(chain.created_at, now)), text(chain.error or "", "red"), text(chain.id),
        )  # fmt: skip
    return made


def jobs(found: Iterable[Job]) -> Sheet:
    """Jobs, one per line."""
    now = datetime.now(UTC)
    made = Sheet("job", "type", "status", "attempt", "worker", "age", "took", "error", "id", numbers=("job", "attempt"))
    for job in found:
        attempts = f"{job.attempt}/{job.max_attempts}" if job.max_attempts else str(job.attempt)
        made.add_row(
            text(job.index + 1), text(job.type), status(job, now), text(attempts), text(job.worker),
            text(took(job.created_at, now)), text(took(job.started_at, job.finished_at)),
            text(job.error or "", "red"), text(job.id),
        )  # fmt: skip
    return made


def attempts(found: Iterable[AttemptReport]) -> Sheet:
    """The attempts of a job, one per line."""
    now = datetime.now(UTC)
    made = Sheet("attempt", "outcome", "worker", "started", "took", "next", "error", numbers=("attempt",))
    for each in found:
        made.add_row(
            text(each.number), styled(each.outcome), text(each.worker), text(relative(each.started_at, now)),
            text(took(each.started_at, each.ended_at)), text(relative(each.next_at, now)),
            text(each.error or "", "red"),
        )  # fmt: skip
    return made


def steps(found: Iterable[Step]) -> Sheet:
    """The steps of a job, one per line."""
    now = datetime.now(UTC)
    made = Sheet("name", "each", "kind", "attempt", "finished", "took", "error", numbers=("attempt",))
    for each in found:
        made.add_row(
            text(each.name), text("" if each.each is None else write_json(each.each)), text(each.kind),
            text(each.attempt), text(relative(each.finished_at, now)), text(took(each.started_at, each.finished_at)),
            text(each.error or "", "red"),
        )  # fmt: skip
    return made


def some(count: int, noun: str) -> str:
    """A count with its noun: `1 chain`, `1,200 chains`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def facts(pairs: Iterable[tuple[str, Text | str | None]]) -> Table:
    """Names and values. Those without a value are left out."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold")
    made.add_column()
    for name, value in pairs:
        if value is not None:
            made.add_row(name, value if isinstance(value, Text) else text(value))
    return made


def took(begun: datetime | None, ended: datetime | None) -> str:
    return "-" if begun is None or ended is None else lasting((ended - begun).total_seconds())
