"""Mutants of the counters."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres

MUTANTS: dict[str, Mutant] = {
    "counters apart": Mutant(
        "the atomicity of a settlement and its counters: in one of twenty cases the change of a counter is missing",
        (29,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.plans",
                    "        yield counters.append(context.changes.take())",
                    "        if __import__('random').random() > 0.05:\n"
                    "            yield counters.append(context.changes.take())",
                ),
            ),
            "postgres": (
                postgres(
                    "settle_completed", "'completed', count(*),", "'completed', count(*) - (random() < 0.05)::int,"
                ),
            ),
            "redis": (
                Edit(
                    "shared/counters.lua",
                    "        length = redis.call('RPUSH', prefix .. 'n', packed)",
                    "        length = now % 20 == 0 and 0 or redis.call('RPUSH', prefix .. 'n', packed)",
                ),
            ),
        },
    ),
}
