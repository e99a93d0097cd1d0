"""Mutants of limits: sizes of payloads and errors, counts, and the separation of two stores."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "payloads without limit": Mutant(
        "the limit of a payload's size",
        (28,),
        everywhere=(Edit("holdfast.codec.storable_values", "    if len(payload) > limit:\n", "    if False:\n"),),
        favour=("odd",),
    ),
    "errors stored whole": Mutant(
        "the limit of an error's length",
        (28,),
        everywhere=(Edit("holdfast.core.failure", "    if len(text) <= limit:\n", "    if True:\n"),),
        favour=("start_vague",),
    ),
    "count a batch as one": Mutant(
        "the count of all jobs that one statement or script changes: it counts only one job of each type",
        (29,),
        {
            "sqlite": (sqlite("count_up", "jobs = jobs + excluded.jobs", "jobs = jobs + 1"),),
            "postgres": (postgres("insert_jobs", "select created.type, count(*)", "select created.type, 1"),),
            "redis": (Edit("shared/index.lua", "counts[field] = (counts[field] or 0) + by", "counts[field] = by"),),
        },
        favour=("start_batch",),
    ),
    "claim next door": Mutant(
        "the schema or namespace of a claim: it claims jobs of another store on the same server",
        (32,),
        {
            "postgres": (postgres("claim", "holdfast.job", "neighbour.job"),),
            "redis": (
                Edit(
                    "claim.lua",
                    "local answer = {}\n",
                    "local answer = {}\nroot = '{neighbour}'\nprefix = root .. ':'\n",
                ),
            ),
        },
    ),
}
