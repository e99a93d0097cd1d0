"""`errors`: the most frequent errors."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import iso, relative
from holdfast.cli.times import since as since_moment
from holdfast.core.counter_report import FrequentError


@command
def errors(
    run: Invocation,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Failures from then on: 10m, 24h at most, or a time.")
    ] = None,
    type: Annotated[list[str] | None, typer.Option(help="Only this type. May be repeated.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1001, help="How many groups to show.")] = 20,
) -> None:
    """Show the most frequent errors: failures grouped by type, exception, message and place in the code.

    retry --group FINGERPRINT runs the failed jobs of a group again.
    """
    with run.client() as client, checked():
        found = client.errors(since_moment(since), type, limit)
    shown = error_table(found) if found else tables.text("no failures", "dim")
    run.answer({"errors": [error_document(each) for each in found]}, shown)


def error_document(error: FrequentError) -> Document:
    return {
        "fingerprint": error.fingerprint,
        "type": error.type,
        "exception": error.exception,
        "message": error.message,
        "frame": error.frame,
        "count": error.count,
        "failed": error.failed,
        "retried": error.retried,
        "first": iso(error.first),
        "last": iso(error.last),
        "example": error.example,
        "minutes": [{"at": iso(at), "count": count} for at, count in error.minutes],
    }


def error_table(found: Iterable[FrequentError]) -> Sheet:
    """Errors, one per line."""
    now = datetime.now(UTC)
    made = Sheet(
        "fingerprint", "failed", "retried", "type", "error", "frame", "first", "last", "example",
        numbers=("failed", "retried"),
    )  # fmt: skip
    for each in found:
        made.add_row(
            tables.text(each.fingerprint or "others"), f"{each.failed:,}", f"{each.retried:,}", tables.text(each.type),
            tables.text(error_line(each), "red"), tables.text(each.frame), tables.text(relative(each.first, now)),
            tables.text(relative(each.last, now)), tables.text(each.example),
        )  # fmt: skip
    return made


def error_line(error: FrequentError) -> str:
    if not error.fingerprint:
        return "all other errors"
    return f"{error.exception}: {error.message}" if error.message else error.exception
