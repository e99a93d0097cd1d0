"""A SQLite file that was replaced under its users: nothing is acknowledged any more, and the workers stop."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_replaced(tally: Tally, evidence: Evidence) -> None:
    """Whatever is written to a file without a name is lost when its last user closes it."""
    for note in evidence.noted("replaced"):
        facts = note.facts
        tally.expect(not facts["acknowledged"], f"calls acknowledged on a replaced file: {facts['acknowledged'][:5]}")
        tally.expect(not facts["late"], f"jobs changed on a replaced file: {facts['late'][:5]}")
        tally.expect(not facts["found"], f"{facts['found']} jobs were written to the file of another store")
        for worker, end in facts["workers"].items():
            tally.expect(end == "told", f"{worker}, whose file was replaced: {end}")
        tally.counts["calls refused on a replaced file"] = facts["refused"]
        tally.counts["changes before it was replaced"] = facts["changes"]
