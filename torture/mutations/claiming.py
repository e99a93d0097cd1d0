"""Handing jobs out: to one, when they are due, and no more than were asked for."""

from __future__ import annotations

from torture.mutations.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "claim without locks": Mutant(
        "for update skip locked in the claim",
        (4, 6, 8),
        {"postgres": (postgres("claim", "for update skip locked", ""),)},
    ),
    "claim too early": Mutant(
        "the wait for a job's time, by half a second",
        (9,),
        {
            "memory": (
                Edit("holdfast.stores.memory.holding", "scheduled[0][0] <= now:", "scheduled[0][0] <= now + 500000:"),
            ),
            "sqlite": (
                sqlite("claim_due", "scheduled_at <= :now", "scheduled_at <= :now + 500000"),
                Edit("holdfast.stores.sqlite.holding", "<= turn.now:", "<= turn.now + 500000:"),
            ),
            "postgres": (
                postgres("claim", "<= (select clock.now from clock)", "<= (select clock.now + 500000 from clock)"),
            ),
            "redis": (Edit("claim.lua", "'-inf', int(now)", "'-inf', int(now + 500000)"),),
        },
        favour=("delay",),
    ),
    "the worker's clock": Mutant(
        "the store's clock, in a fleet where one clock is an hour wrong",
        (6, 9, 10),
        stores=("postgres", "redis"),
        workers_clock=True,
    ),
}
