"""Mutants of the claim: locks, limit, due time and order."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

_CHOICE = (
    "select first.seq from share cross join lateral (select other.seq from holdfast.job other"
    " where other.status = 'pending' and other.type = share.type and other.priority = share.priority"
    " and other.scheduled_at <= (select clock.now from clock) order by other.scheduled_at, other.seq"
    " limit share.jobs for update skip locked) first where job.seq is not null"
)
"""The query of `due`, but computed for each row that the update reads."""

MUTANTS: dict[str, Mutant] = {
    "claim without locks": Mutant(
        "for update skip locked in the claim",
        (4, 6, 8),
        {"postgres": (postgres("claim", "for update skip locked", ""),)},
    ),
    "claim more than asked": Mutant(
        "the limit of a claim: a claim takes up to five jobs more",
        (28,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.claim",
                    "taken < limit + ahead:",
                    "taken < limit + ahead + 5:",
                ),
                Edit("holdfast.stores.memory.verbs.claim", "if taken >= limit:", "if taken >= limit + 5:"),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.claim",
                    "left = limit - len",
                    "left = limit + 5 - len",
                ),
            ),
            "postgres": (
                Edit("holdfast.stores.postgres.verbs.claim", '"limit": op.limit,', '"limit": op.limit + 5,'),
                Edit("holdfast.stores.postgres.verbs.claim", "limit = op.limit - len", "limit = op.limit + 5 - len"),
            ),
            "redis": (Edit("claim.lua", "= op[1], op[2], op[3]", "= op[1], op[2] + 5, op[3]"),),
        },
        favour=("start_batch",),
    ),
    "choose again for each row": Mutant(
        "the single evaluation of the query that selects rows: the planner may repeat a query that is not materialised",
        (28,),
        {"postgres": (postgres("claim", "any(array(select due.seq from due))", f"any(array({_CHOICE}))"),)},
        favour=("start_batch",),
    ),
    "claim too early": Mutant(
        "the wait for the due time of a job: it is claimed up to half a second early",
        (9,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.claim", "scheduled[0][0] <= now:", "scheduled[0][0] <= now + 500000:"
                ),
            ),
            "sqlite": (
                sqlite("claim_due", "scheduled_at <= :now", "scheduled_at <= :now + 500000"),
                Edit("holdfast.stores.sqlite.verbs.claim", "<= context.now:", "<= context.now + 500000:"),
            ),
            "postgres": (
                postgres("claim", "<= (select clock.now from clock)", "<= (select clock.now + 500000 from clock)"),
            ),
            "redis": (Edit("claim.lua", "'-inf', int(now)", "'-inf', int(now + 500000)"),),
        },
        favour=("delay",),
    ),
    "passed over": Mutant(
        "the position of every fortieth job: it waits for 40 s while later jobs are claimed",
        (23,),
        {
            "sqlite": (
                sqlite(
                    "claim_due",
                    "scheduled_at <= :now",
                    "scheduled_at <= :now and (seq % 40 <> 0 or scheduled_at <= :now - 40000000)",
                ),
            ),
            "postgres": (
                postgres(
                    "claim",
                    "job.scheduled_at <= (select clock.now from clock)",
                    "job.scheduled_at <= (select clock.now from clock)"
                    " and (job.seq % 40 <> 0 or job.scheduled_at <= (select clock.now - 40000000 from clock))",
                ),
            ),
            "redis": (
                Edit(
                    "shared/enter_pending.lua",
                    "index_member(job), job.scheduled_at)",
                    "index_member(job), job.scheduled_at + (job.seq % 40 == 0 and 40000000 or 0))",
                ),
            ),
        },
        faults=("kill",),
        settle_longer=42.0,
    ),
    "the worker's clock": Mutant(
        "the store's clock: one worker has a clock that is wrong by an hour",
        (6, 9, 10),
        stores=("postgres", "redis"),
        workers_clock=True,
    ),
}
