"""Errors: failures in groups, when they happened, and the retry of a whole group."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.responses import Response

from holdfast.core.counter_report import FrequentError
from holdfast.dashboard.query import Term
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.sparkline import Sparkline, sparkline
from holdfast.dashboard.view import View

PERIODS = {
    "hour": (timedelta(hours=1), 60),
    # A minute less than what the store keeps: its clock may be ahead.
    "day": (timedelta(hours=24) - timedelta(minutes=1), 48),
}
MOST = 100


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One group on the page."""

    error: FrequentError
    message: str
    chart: Sparkline

    @property
    def query(self) -> str:
        """The query that finds the failed jobs of the group."""
        return str(Term("group", self.error.fingerprint))


async def show(view: View) -> Response:
    """The most frequent errors of the last hour or day."""
    period = view.query.get("period", "day")
    period = period if period in PERIODS else "day"
    length, bars = PERIODS[period]
    since = datetime.now(UTC) - length
    errors = await view.viewer.errors(since, limit=MOST)
    rows = [
        ErrorRow(
            error,
            view.redaction.message(error.message),
            sparkline(error.minutes, since=since, length=length, bars=bars),
        )
        for error in errors
    ]
    return view.page("errors.html", rows=rows, period=period, periods=list(PERIODS), most=MOST, live=view.live())


NAVIGATION = NavigationEntry("Errors", "/errors")
ROUTES = [get("/errors", show)]
