"""Mutants: each takes one protection away. A run on one must go red, by an invariant that it names.

Imports nothing of the library: the texts are changed before it is loaded.
"""

from __future__ import annotations

from torture.mutations import (
    bounding,
    claiming,
    ending,
    fencing,
    hearing,
    interrupting,
    keeping,
    raising,
    recovering,
    starting,
    stopping,
    supervising,
)
from torture.mutations.mutant import Edit, Mutant

__all__ = ["MUTANTS", "Edit", "Mutant"]

MUTANTS: dict[str, Mutant] = {
    name: mutant
    for part in (
        starting,
        claiming,
        fencing,
        recovering,
        ending,
        hearing,
        keeping,
        stopping,
        bounding,
        supervising,
        raising,
        interrupting,
    )
    for name, mutant in part.MUTANTS.items()
}
