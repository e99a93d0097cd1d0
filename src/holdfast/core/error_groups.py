"""Error groups: failures of the same type, exception class, message and place in the code. Pure: no clock, no I/O.

The message is normalised, so that ids, numbers and paths in it do not make every failure different. The place is the
innermost frame of the application: the last one that is neither in a library nor in Holdfast itself.
"""

from __future__ import annotations

import hashlib
import re
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.counters import MINUTE, TOTAL, CounterChange
from holdfast.core.failure import read_error

MOST_GROUPS: Final = 1000
OTHER: Final = ""
"""The fingerprint of all failures beyond `MOST_GROUPS`."""
KEPT: Final[Micros] = 7 * 24 * 60 * MINUTE
"""A group is deleted when its last failure is older than this."""

_MESSAGE = 200
_FRAME = re.compile(r'^  File "(.+)", line \d+, in (.+)$', re.MULTILINE)
_LIBRARIES: Final = tuple(
    {
        f"{Path(path).resolve()}/"
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        for path in [sysconfig.get_path(name)]
    }
)
_HOLDFAST: Final = f"{Path(__file__).resolve().parent.parent}/"
_VARIABLE: Final = (
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"), "STR"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "UUID"),
    (re.compile(r"(?<![\w.])(?:[a-zA-Z]:)?(?:[\\/][\w.\-]+){2,}[\\/]?"), "PATH"),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\b"), "HEX"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "N"),
    (re.compile(r"\s+"), " "),
)


class ErrorSummary(msgspec.Struct, frozen=True, array_like=True):
    """What the failures of a group have in common besides the type."""

    exception: str
    message: str
    """Normalised."""
    frame: str = ""
    """The innermost frame of the application, as `file.py:function`; empty if there is none."""


class StoredFailure(NamedTuple):
    """A failure as a store keeps it: the fingerprint of its group, and its summary as JSON text."""

    fingerprint: str
    summary: str


class ErrorGroup(NamedTuple):
    """A group as a store keeps it."""

    fingerprint: str
    type: str
    summary: str
    first_at: Micros
    last_at: Micros
    example: str


class GroupedErrors(NamedTuple):
    """A group with the number of its failures in the time that was asked for."""

    group: ErrorGroup
    failed: int
    """Jobs that failed permanently."""
    retried: int
    """Attempts that failed and were followed by another one."""
    minutes: tuple[tuple[int, int], ...] = ()
    """The minutes with failures, oldest first, and how many. Empty if all failures since the first were asked for."""


def classify(type: str, error: bytes) -> StoredFailure:
    """The group of a failure, from the type of the job and the stored error. Never raises."""
    text = read_error(error)
    assert text is not None
    summary = ErrorSummary(text.type, normalise(text.message), application_frame(text.traceback))
    parts = f"{type}\0{summary.exception}\0{summary.message}\0{summary.frame}"
    digest = hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:16]
    return StoredFailure(digest, msgspec.json.encode(summary).decode())


def lost_lease(type: str) -> StoredFailure:
    """The group of attempts whose lease was lost. A script of Redis contains the same values."""
    return StoredFailure(f"LeaseLost:{type}", '["LeaseLost","lease lost",""]')


def blocker_failed(type: str) -> StoredFailure:
    """The group of jobs that failed because of a blocker. Redis and PostgreSQL contain the same values."""
    return StoredFailure(f"BlockerFailed:{type}", '["BlockerFailed","a blocker did not complete",""]')


def read_summary(stored: str) -> ErrorSummary:
    return msgspec.json.decode(stored, type=ErrorSummary)


def normalise(message: str) -> str:
    """The first line of a message without what differs from failure to failure: quoted text, ids, paths, numbers."""
    line = next((line for line in message[:2000].splitlines() if line.strip()), "")
    for pattern, name in _VARIABLE:
        line = pattern.sub(name, line)
    return line.strip()[:_MESSAGE]


def application_frame(trace: str) -> str:
    """The innermost frame of the application in a traceback, as `file.py:function`; else the innermost frame.

    The line is left out: it changes with edits that have nothing to do with the error.
    """
    frames = _FRAME.findall(trace)
    own = [frame for frame in frames if not _is_library(frame[0])]
    if not frames:
        return ""
    path, function = (own or frames)[-1]
    return f"{'/'.join(Path(path).parts[-2:]).lstrip('/')}:{function}"[:_MESSAGE]


def _is_library(path: str) -> bool:
    return (
        path.startswith((_HOLDFAST, "<frozen ", *_LIBRARIES))
        or "/site-packages/" in path
        or "/dist-packages/" in path
        or "\\site-packages\\" in path
    )


Occurrences = dict[tuple[str, int], tuple[int, int]]
"""(fingerprint, minute or `TOTAL`) to the numbers of failed jobs and of retried attempts."""


def add_failures(
    changes: Iterable[CounterChange],
    groups: Mapping[str, ErrorGroup],
    occurrences: Mapping[tuple[str, int], tuple[int, int]],
) -> tuple[dict[str, ErrorGroup], Occurrences]:
    """The groups and occurrences that differ after these changes. `groups` are all known ones.

    A new fingerprint beyond the limit counts as `OTHER`.
    """
    changed: dict[str, ErrorGroup] = {}
    counted: Occurrences = {}
    known = len(groups.keys() - {OTHER})
    for change in changes:
        fingerprint = change.fingerprint
        if fingerprint is None:
            continue
        group = changed.get(fingerprint) or groups.get(fingerprint)
        if group is None and known >= MOST_GROUPS:
            fingerprint = OTHER
            group = changed.get(fingerprint) or groups.get(fingerprint)
        known += group is None and fingerprint != OTHER
        changed[fingerprint] = _joined(group, fingerprint, change)
        for place in ((fingerprint, change.minute), (fingerprint, TOTAL)):
            failed, retried = counted.get(place) or occurrences.get(place, (0, 0))
            permanent = change.number if change.kind == "failed" else 0
            counted[place] = failed + permanent, retried + change.number - permanent
    return changed, counted


def _joined(group: ErrorGroup | None, fingerprint: str, change: CounterChange) -> ErrorGroup:
    type, summary = (change.type, change.summary or "") if fingerprint else ("", '["","",""]')
    if group is None:
        return ErrorGroup(fingerprint, type, summary, change.at, change.at, change.example or "")
    example = (change.example or "") if change.at >= group.last_at else group.example
    return group._replace(
        first_at=min(group.first_at, change.at), last_at=max(group.last_at, change.at), example=example
    )


def most_frequent(
    groups: Mapping[str, ErrorGroup],
    occurrences: Mapping[tuple[str, int], tuple[int, int]],
    *,
    first: int | None,
    types: tuple[str, ...] = (),
    limit: int,
) -> list[GroupedErrors]:
    """The groups with the most failures since the minute `first`, or ever. Equal ones: the most recent first."""
    numbers: dict[str, tuple[int, int]] = {}
    minutes: dict[str, list[tuple[int, int]]] = {}
    for (fingerprint, minute), (failed, retried) in occurrences.items():
        if minute == TOTAL if first is None else minute != TOTAL and minute >= first:
            before = numbers.get(fingerprint, (0, 0))
            numbers[fingerprint] = before[0] + failed, before[1] + retried
            if minute != TOTAL:
                minutes.setdefault(fingerprint, []).append((minute, failed + retried))
    found = [
        GroupedErrors(groups[fingerprint], *number, tuple(sorted(minutes.get(fingerprint, ()))))
        for fingerprint, number in numbers.items()
        if fingerprint in groups and (not types or groups[fingerprint].type in types)
    ]
    found.sort(key=lambda each: (-each.failed - each.retried, -each.group.last_at, each.group.fingerprint))
    return found[:limit]
