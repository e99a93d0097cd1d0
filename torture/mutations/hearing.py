"""Wake-ups are hints: whoever waits looks for itself."""

from __future__ import annotations

from torture.mutations.mutant import Edit, Mutant

MUTANTS: dict[str, Mutant] = {
    "waiters that only listen": Mutant(
        "the look at the chain now and then: wake-ups may be lost",
        (18,),
        everywhere=(Edit("holdfast.client.waiting", "POLL = 5.0", "POLL = 600.0"),),
        favour=("request",),
        # Whoever is told late because the store was away proves nothing.
        faults=("kill",),
    ),
    "no look after subscribing": Mutant(
        "the look at the chain after subscribing: what ended before is not heard",
        (18,),
        everywhere=(
            Edit("holdfast.client.waiting", "POLL = 5.0", "POLL = 600.0"),
            Edit(
                "holdfast.client.waiting", "look: bool = True) -> WaitProcedure", "look: bool = False) -> WaitProcedure"
            ),
        ),
        favour=("request",),
        faults=("kill",),
    ),
    "sleep until woken": Mutant(
        "the worker's own look now and then: wake-ups may be lost",
        (10, 23, 30),
        everywhere=(
            Edit(
                "holdfast.worker.claim_loop",
                "return await self._wake_flag.wait(poll)",
                "return await self._wake_flag.wait(3600)",
            ),
        ),
        deaf=True,
    ),
}
