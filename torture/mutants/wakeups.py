"""Mutants of polling: without it, a lost wake-up delays a waiter or a worker forever."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant

MUTANTS: dict[str, Mutant] = {
    "waiters that only listen": Mutant(
        "the polling of the chain: wake-ups may be lost",
        (18,),
        everywhere=(Edit("holdfast.client.waiting", "POLL = 5.0", "POLL = 600.0"),),
        favour=("request",),
        # Only kills: a delay during an outage of the store would prove nothing.
        faults=("kill",),
    ),
    "no look after subscribing": Mutant(
        "the read of the chain after subscribing: an earlier end sends no wake-up",
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
        "the polling of the worker: wake-ups may be lost",
        (10, 23, 30),
        everywhere=(
            Edit(
                "holdfast.worker.claim_loop",
                "wait, delay = poll, 0.0",
                "wait, delay = 3600.0, 0.0",
            ),
        ),
        without_wakeups=True,
    ),
}
