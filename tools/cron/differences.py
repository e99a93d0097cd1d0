"""Where Holdfast differs from the expectations of `croniter`. The guide to schedules states the same.

Holdfast does not differ from those of `cronsim`, which reads the fields.
"""

from __future__ import annotations

import re

_WEEKDAYS = "(?:[0-7]|sun|mon|tue|wed|thu|fri|sat)"
_MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"

CRONITER: dict[str, str] = {
    "more than five fields are refused": r"\S+(?: \S+){5,}",
    "a range of one weekday is this weekday, not the whole week": r"\S+ \S+ \S+ \S+ (?:sun-sun|7-7|0-0)",
    "a range whose end is before its start is refused": (
        rf"\S+ \S+ \S+ \S+ (?:7-{_WEEKDAYS}|{_WEEKDAYS}-(?:0|sun)|thu-tue)(?:/\d)?"
        rf"|\S+ \S+ \S+ {_MONTHS}-(?:mar|feb)(?:/\d)? \S+"
    ),
    "a range that ends at the last day of the month is refused": r"\S+ \S+ \d+-L(?:/\d)? \S+ \S+",
    "the working day nearest to a day of the month is refused": r"\S+ \S+ (?:\d+W|W\d+) \S+ \S+",
    "a number of the weekday after a range is refused": r"\S+ \S+ \S+ \S+ mon-fri#1",
    "weekdays with and without a number may be mixed": r"\S+ \S+ \S+ \S+ (?:5,6#3|\*,sat#3)",
    "a day field that begins with a star must match too": r"\S+ \S+ \*/\d \S+ sat",
    "a question mark is refused": r".*\?.*",
    "random and hashed values are refused": r".*\b[RH]\b.*",
}
"""What applies in Holdfast, to a pattern of the expressions."""


def difference(expression: str) -> str | None:
    """What applies in Holdfast, for an expression that `croniter` reads differently."""
    text = " ".join(expression.split())
    return next((reason for reason, pattern in CRONITER.items() if re.fullmatch(pattern, text, re.IGNORECASE)), None)
