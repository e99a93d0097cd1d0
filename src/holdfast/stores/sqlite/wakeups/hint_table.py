"""Hints of transactions that the application commits, as rows. Other processes read them after a file change.

A process that detects a commit therefore knows what has changed, and wakes only the listeners concerned. A commit of
the application without operations of Holdfast writes no hint and wakes no listener. For the commits of Holdfast, see
`hint_log`.
"""

from __future__ import annotations

import random
from itertools import count
from typing import NamedTuple

import msgspec

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.sql.plan import Plan, Statement
from holdfast.stores.sqlite.rows import SQL

_INSERT = SQL["insert_hint"]
_DELETE = SQL["delete_hints"]
_LAST = SQL["last_hint"]
_READ = SQL["read_hints"]

KEPT = 1000
"""Number of hints in the table. A process that missed older ones receives `anything=True`."""

LARGEST = 500
"""Chains, jobs, types and workers in one row or line. Above this number, `anything=True` is written instead."""

DELETE_EVERY = 100
"""Number of hints that a process writes between two deletions of old ones."""

# Counted in the process: a query would cost as much as a hint. Random start: a process may end after its first hint.
_written = count(random.randrange(DELETE_EVERY))

_decoder = msgspec.json.Decoder(Hints)


class NewHints(NamedTuple):
    """The hints of other processes, and the seq of the last one."""

    seen: int
    hints: Hints


def write(source: str, hints: Hints) -> Plan[None]:
    """Write hints, if there are any."""
    if not hints:
        return
    yield Statement(_INSERT, {"source": source, "hints": encoded(hints)})
    if next(_written) % DELETE_EVERY == 0:
        yield Statement(_DELETE, {"kept": KEPT})


def encoded(hints: Hints) -> bytes:
    """The text of hints, of a limited length."""
    size = len(hints.finished) + len(hints.lost) + len(hints.due) + len(hints.workers)
    return msgspec.json.encode(ANYTHING if size > LARGEST else hints)


def last() -> Plan[int]:
    """The seq of the newest hint."""
    [(seq,)] = yield Statement(_LAST)
    return int(seq)


def read(source: str, seen: int) -> Plan[NewHints]:
    """The hints after `seen` that were not written by `source`."""
    rows = yield Statement(_READ, {"seen": seen})
    hints = Hints()
    if rows and rows[0][0] > seen + 1:
        hints.anything = True  # some are already deleted
    for seq, written_by, text in rows:
        seen = seq
        if written_by != source:
            hints.add(_decoder.decode(text))
    return NewHints(seen, hints)
