"""Mutants of a stopping worker: it claims more jobs, or drops running ones."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant

_DRAINING = "        await shutdown.end_attempts("

MUTANTS: dict[str, Mutant] = {
    "claim while stopping": Mutant(
        "the end of claiming when a worker stops: it claims three more times",
        (21,),
        everywhere=(
            Edit(
                "holdfast.worker.worker",
                _DRAINING,
                "        for _ in range(3):\n            await self._claim_loop._iterate(self._slots)\n" + _DRAINING,
            ),
            Edit("holdfast.worker.slots", "if self._stopping.is_set():  # claimed", "if False:  # claimed"),
        ),
        faults=("terminate",),
    ),
    "drop what runs": Mutant(
        "the wait for running handlers when a worker stops, and the release of unfinished jobs",
        (21,),
        everywhere=(
            Edit(
                "holdfast.worker.worker",
                _DRAINING,
                "        return\n" + _DRAINING,
            ),
        ),
        favour=("start_slow",),
        faults=("terminate",),
    ),
}
