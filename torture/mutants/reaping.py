"""Mutants of the reaper: expired leases, locks of lost hosts, and the limit of attempts."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "no reaper": Mutant(
        "the reaper",
        (10, 11, 30),
        everywhere=(
            Edit(
                "holdfast.worker.reaper", "return lease_clock() >= self._reaped + REAP_EVERY", "return self._reaped < 0"
            ),
        ),
    ),
    "impatient reaper": Mutant(
        "the reaper's wait for the end of the lease",
        (6,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.reap",
                    "(job.leased_until or 0) <= now",
                    "(job.leased_until or 0) <= now + 900000",
                ),
            ),
            "sqlite": (sqlite("reap_expired", "leased_until <= :now", "leased_until <= :now + 900000"),),
            "postgres": (
                postgres(
                    "reap_expired", "job.leased_until <= :now::bigint", "job.leased_until <= :now::bigint + 900000"
                ),
            ),
            "redis": (Edit("reap.lua", "'-inf', int(now)", "'-inf', int(now + 900000)"),),
        },
    ),
    "lost hosts keep their locks": Mutant(
        "the termination of sessions whose worker is gone",
        (10,),
        {
            "postgres": (
                Edit("holdfast.stores.postgres.verbs.reap", "    if skipped:\n", "    if skipped and False:\n"),
                postgres("lock_jobs", "where coalesce(:first::bigint, :first_kept::bigint) is not null", "where false"),
            )
        },
        faults=("host lost",),
    ),
    "attempts without end": Mutant(
        "the limit of attempts when a lease is lost",
        (8, 11),
        {
            "redis": (
                Edit(
                    "reap.lua", "local retried = not job.max_attempts", "local retried = true or not job.max_attempts"
                ),
            )
        },
        everywhere=(
            Edit(
                "holdfast.core.permanent_failure", "return job.max_attempts in (None, UNLIMITED) or", "return True or"
            ),
        ),
        stores=("sqlite", "postgres", "redis"),
        favour=("start_poison",),
    ),
}
