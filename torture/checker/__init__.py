"""The checker: one offline pass over the evidence, a verdict for each of the 33 invariants."""

from __future__ import annotations

from collections.abc import Callable

from torture.checker import control, delays, edges, execution, existence, fidelity, structure, upkeep, waiting
from torture.checker.verdict import Tally, Verdict, Word, judge
from torture.evidence import Evidence

__all__ = ["INVARIANTS", "Verdict", "Word", "check"]

Check = Callable[[Evidence], Tally]


def _absent(reason: str) -> Check:
    return lambda evidence: Tally(reason=reason)


INVARIANTS: dict[int, tuple[str, Check]] = {
    1: ("no lost job", existence.no_lost_job),
    2: ("no phantom", existence.no_phantom),
    3: ("atomic with user data", existence.atomic_with_user_data),
    4: ("one terminal transition", existence.one_end),
    5: ("effects exactly once", execution.effects_once),
    6: ("one lease", execution.one_lease),
    7: ("stale cannot write", execution.stale_cannot_write),
    8: ("attempts", execution.attempts_count),
    9: ("never early", delays.never_early),
    10: ("recovery", execution.recovery),
    11: ("poison bounded", execution.poison_bounded),
    12: ("chain", structure.chains_whole),
    13: ("blockers", structure.blockers_hold),
    14: ("dedup", structure.one_per_key),
    15: ("ticks", _absent("this version has no schedules that tick")),
    16: ("cancel is final", control.cancel_is_final),
    17: ("external completion", control.one_completer),
    18: ("waiters wake", waiting.waiters_wake),
    19: ("result keep time", control.kept_as_reported),
    20: ("payload fidelity", fidelity.payloads_exact),
    21: ("shutdown loses nothing", upkeep.shutdown_loses_nothing),
    22: ("crash anywhere", upkeep.crash_anywhere),
    23: ("no starvation", upkeep.no_starvation),
    24: ("limits", _absent("what runs at once is limited per process here, never across them, per queue or per key")),
    25: ("autoscaler", edges.processes_follow),
    26: ("clock-independent", upkeep.any_clock),
    27: ("notifications are hints", upkeep.hints_only),
    28: ("bounded", upkeep.bounded),
    29: ("conservation", upkeep.conservation),
    30: ("clean at rest", upkeep.clean_at_rest),
    31: ("rolling upgrade", _absent("there is one version of the schema so far")),
    32: ("separation", upkeep.kept_apart),
    33: ("security", edges.nothing_taken_for_more),
}

WHOLE = {22: range(1, 21), 26: range(1, 22), 27: range(1, 22)}
"""Invariants that say: the others hold, whatever happens. They fall with those."""

TOLD = frozenset({1, 2, 4, 5, 7, 10, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 26, 27, 29, 30, 32})
"""Invariants that compare what somebody was told with what is there: a store that forgets breaks them by design.

What its audit shows by itself is no loss, in whichever of them it is found.
"""


def check(evidence: Evidence) -> list[Verdict]:
    """Judge a run."""
    tallies = {number: check(evidence) for number, (_, check) in INVARIANTS.items()}
    forgets = bool(evidence.facts.durability)
    for number, others in WHOLE.items():
        fallen = [other for other in others if tallies[other].violations]
        if fallen and tallies[number].reason is None:
            proven = any(other not in TOLD or tallies[other].proven for other in fallen)
            reported = "with faults about, these did not hold: " + ", ".join(map(str, fallen))
            tallies[number].broken(reported, by_audit=proven)
    return [
        judge(number, name, tallies[number], may_lose=forgets and number in TOLD)
        for number, (name, _) in INVARIANTS.items()
    ]
