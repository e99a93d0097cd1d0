"""What a store in a weaker mode lost: writes that were acknowledged and are missing."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from torture.evidence import Evidence

CRASHES = ("server kill", "power lost", "failover")


def losses(evidence: Evidence) -> dict[str, Any]:
    """Acknowledged starts and settlements, how many are missing, and the age of the oldest one at its crash."""
    crashes = sorted(
        (note.facts["begun"], note.facts.get("back", note.at))
        for note in evidence.noted("fault")
        if note.facts["kind"] in CRASHES
    )
    created = {change.id for change in evidence.changes if change.before is None}
    left = {(change.id, change.token_before) for change in evidence.changes if change.before == "running"}
    starts = [
        (call.ended or 0, found)
        for call in evidence.called("start")
        if call.outcome == "ok"
        for found in call.facts["found"]
    ]
    settled = [
        (note.at, (note.facts["job"], note.facts["token"]))
        for note in evidence.noted("settled")
        if note.facts["written"]
    ]
    lost_starts = [at for at, found in starts if found not in created]
    lost_ends = [at for at, claim in settled if claim not in left]
    return {
        "crashes": len(crashes),
        "starts acknowledged": len(starts),
        "starts lost": len(lost_starts),
        "settlements acknowledged": len(settled),
        "settlements lost": len(lost_ends),
        "seconds before a crash, the oldest lost": _oldest([*lost_starts, *lost_ends], crashes),
    }


def _oldest(moments: list[int], crashes: list[tuple[int, int]]) -> float:
    """How long before its crash the earliest of these was acknowledged. A time within a crash belongs to that crash."""
    ages = [0]
    for at in moments:
        place = bisect_left([back for _, back in crashes], at)
        if place < len(crashes):
            ages.append(crashes[place][0] - at)
    return round(max(ages) / 1e6, 3)
