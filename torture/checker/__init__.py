"""The checker: reads the evidence after the run and returns a verdict for each of the 40 invariants."""

from __future__ import annotations

from collections.abc import Callable

from torture.checker import (
    chains,
    claiming_ahead,
    due_times,
    execution,
    existence,
    flow_control,
    messages,
    operator_calls,
    payload_fidelity,
    security,
    steps,
    supervisor,
    waiters,
    whole_system,
)
from torture.checker.verdict import Result, Tally, Verdict, judge
from torture.evidence import Evidence

__all__ = ["INVARIANTS", "Result", "Verdict", "check"]

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
    9: ("never early", due_times.never_early),
    10: ("recovery", execution.recovery),
    11: ("poison bounded", execution.poison_bounded),
    12: ("chain", chains.chains_whole),
    13: ("blockers", chains.blockers_hold),
    14: ("dedup", chains.one_per_key),
    15: ("ticks", flow_control.ticks_once),
    16: ("cancel is final", operator_calls.cancel_is_final),
    17: ("external completion", operator_calls.one_completer),
    18: ("waiters wake", waiters.waiters_wake),
    19: ("result keep time", operator_calls.kept_as_reported),
    20: ("payload fidelity", payload_fidelity.payloads_exact),
    21: ("shutdown loses nothing", whole_system.shutdown_loses_nothing),
    22: ("crash anywhere", whole_system.crash_anywhere),
    23: ("no starvation", whole_system.no_starvation),
    24: ("limits", flow_control.limits_hold),
    25: ("autoscaler", supervisor.processes_follow),
    26: ("clock-independent", whole_system.any_clock),
    27: ("notifications are hints", whole_system.hints_only),
    28: ("bounded", whole_system.bounded),
    29: ("conservation", whole_system.conservation),
    30: ("clean at rest", whole_system.clean_at_rest),
    31: ("rolling upgrade", _absent("there is one version of the schema so far")),
    32: ("separation", whole_system.kept_apart),
    33: ("security", security.payloads_stay_text),
    34: ("failure hooks", flow_control.hooks_once),
    35: ("steps", steps.steps_hold),
    36: ("messages", messages.messages_hold),
    37: ("rates and order", flow_control.rates_and_order),
    38: ("claiming ahead", claiming_ahead.claiming_ahead),
    39: ("events", _absent("conformance cases check it")),
    40: ("explain agrees", _absent("property tests compare explain with the claim")),
}

WHOLE = {22: range(1, 21), 26: range(1, 22), 27: range(1, 22)}
"""Invariants of the form "the others hold during these faults": violated if one of the others is."""

COMPARES_ANSWERS = frozenset({1, 2, 4, 5, 7, 10, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 26, 27, 29, 30, 32, 35, 36})
"""Invariants that compare answers of the store with its content: a store that may lose writes violates them by design.

A violation that the audit alone proves never counts as a loss.
"""


def check(evidence: Evidence) -> list[Verdict]:
    """Check all invariants."""
    tallies = {number: check(evidence) for number, (_, check) in INVARIANTS.items()}
    forgets = bool(evidence.facts.durability)
    for number, others in WHOLE.items():
        violated = [other for other in others if tallies[other].violations]
        if violated and tallies[number].reason is None:
            proven = any(other not in COMPARES_ANSWERS or tallies[other].proven for other in violated)
            reported = "violated during the faults: " + ", ".join(map(str, violated))
            tallies[number].broken(reported, by_audit=proven)
    return [
        judge(number, name, tallies[number], may_lose=forgets and number in COMPARES_ANSWERS)
        for number, (name, _) in INVARIANTS.items()
    ]
