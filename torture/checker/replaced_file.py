"""A SQLite file that is replaced while processes use it: no more writes are acknowledged, and the workers stop."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_replaced(tally: Tally, evidence: Evidence) -> None:
    """Writes to an unlinked file are lost when the last process closes it."""
    for note in evidence.noted("replaced"):
        facts = note.facts
        tally.expect(not facts["acknowledged"], f"calls acknowledged on a replaced file: {facts['acknowledged'][:5]}")
        tally.expect(not facts["late"], f"jobs changed on a replaced file: {facts['late'][:5]}")
        tally.expect(not facts["found"], f"{facts['found']} jobs were written to the file of another store")
        for worker, end in facts["workers"].items():
            tally.expect(end == "detected", f"{worker}, whose file was replaced: {end}")
        tally.counts["calls refused on a replaced file"] = facts["refused"]
        tally.counts["changes before it was replaced"] = facts["changes"]
