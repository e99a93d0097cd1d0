"""Mutants: each removes one protection. A run with a mutant must violate one of the invariants that the mutant names.

This package does not import the library: the sources are changed before they are loaded.
"""

from __future__ import annotations

from torture.mutants import (
    claims,
    completion,
    counters,
    durability,
    exceptions,
    fencing,
    flow_control,
    interruptions,
    limits,
    reaping,
    shutdown,
    starts,
    steps,
    supervisor,
    wakeups,
)
from torture.mutants.mutant import Edit, Mutant

__all__ = ["MUTANTS", "Edit", "Mutant"]

MUTANTS: dict[str, Mutant] = {
    name: mutant
    for part in (
        starts,
        claims,
        fencing,
        reaping,
        completion,
        counters,
        wakeups,
        durability,
        shutdown,
        limits,
        flow_control,
        steps,
        supervisor,
        exceptions,
        interruptions,
    )
    for name, mutant in part.MUTANTS.items()
}
