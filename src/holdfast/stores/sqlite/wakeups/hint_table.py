"""Hints between processes: written in the transaction that they tell of, read when the file was seen to change.

So a process that hears of a commit knows what it may mean, wakes only those whom it concerns, and does not wake
itself by its own. Commits of the application that are no business of ours leave none, and wake nobody.
"""

from __future__ import annotations

import random
from itertools import count
from typing import NamedTuple

import msgspec

from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.plan import Plan, Statement, gather
from holdfast.stores.sqlite.rows import SQL

_INSERT = SQL["insert_hint"]
_FORGET = SQL["delete_hints"]
_LAST = SQL["last_hint"]
_READ = SQL["read_hints"]

KEPT = 1000
"""Hints that stay; who comes later than that looks at everything."""

LARGEST = 500
"""Chains and jobs named in one hint; beyond that it says to look at everything."""

FORGET_EVERY = 100
"""Hints of one process between two times that it forgets the old ones."""

# Counted here, since to ask the file would cost as much as a hint. From anywhere: a process may end after its first.
_written = count(random.randrange(FORGET_EVERY))

_decoder = msgspec.json.Decoder(Hints)


class Heard(NamedTuple):
    """What others have told since `seen`."""

    seen: int
    hints: Hints


def write(source: str, hints: Hints) -> Plan[None]:
    """Tell others, if there is something to tell."""
    if not hints:
        return
    if len(hints.finished) + len(hints.lost) > LARGEST:
        hints = Hints(anything=True)
    yield Statement(_INSERT, {"source": source, "hints": msgspec.json.encode(hints)})
    if next(_written) % FORGET_EVERY == 0:
        yield Statement(_FORGET, {"kept": KEPT})


def last() -> Plan[int]:
    """The newest hint there is."""
    [(seq,)] = yield Statement(_LAST)
    return int(seq)


def read(source: str, seen: int) -> Plan[Heard]:
    """What others than `source` have told since."""
    rows = yield Statement(_READ, {"seen": seen})
    hints = Hints()
    if rows and rows[0][0] > seen + 1:
        hints.anything = True  # some have been forgotten already
    for seq, told_by, reported in rows:
        seen = seq
        if told_by != source:
            gather(hints, _decoder.decode(reported))
    return Heard(seen, hints)
