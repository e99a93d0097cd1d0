"""Mutants of the end of a job: continuations, blockers, and completion from outside."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres

_NAIVE_LOOK = (
    "not exists (select 1 from holdfast.blocker b join holdfast.job step on step.chain_id = b.chain_id"
    " where b.job_id = job.id and step.status <> 'completed')"
)

_LOOK_FIRST = Edit(
    "holdfast.client.completing",
    "        self._tx: Transaction = self._joined or await self._store.begin()\n"
    "        try:\n"
    "            record = await run(self._tx.perform, self._lock())\n",
    "        record = await run(self._store.perform, self._lock())\n"
    "        self._tx = await self._store.begin()\n"
    "        try:\n"
    "            pass\n",
)

_ACCEPT_CYCLES = Edit("holdfast.core.waiting_cycles", "if blocker == chain_id:", "if False:")

MUTANTS: dict[str, Mutant] = {
    "continuation apart": Mutant(
        "the atomicity of an end and its continuation: in one of twenty cases the continuation is missing",
        (12,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.settle",
                    "    if next_job is not None:\n        add",
                    "    if next_job is not None and state.now() % 20:\n        add",
                ),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.settle",
                    "            self._continuations.append(next_job)",
                    "            __import__('random').random() < 0.05 or self._continuations.append(next_job)",
                ),
            ),
            "postgres": (
                postgres(
                    "settle_continued",
                    "      from good, clock\n     order by",
                    "      from good, clock where random() > 0.05\n     order by",
                ),
            ),
            "redis": (
                Edit(
                    "settle.lua", "  if continuation then\n    add", "  if continuation and now % 20 ~= 0 then\n    add"
                ),
            ),
        },
        favour=("start_chain",),
    ),
    "unblock by looking": Mutant(
        "the locks and the counter of blockers: the end of a blocker only reads the status of the others",
        (13, 30),
        {
            "postgres": (
                postgres("unblock", "job.open_blockers = counted.done", _NAIVE_LOOK),
                postgres(
                    "settle_affected",
                    "where ended.completed or dependent.status",
                    "where false and ended.completed or dependent.status",
                ),
            )
        },
        favour=("start_fan_in",),
    ),
    "unblock at the first": Mutant(
        "the check for other open blockers: a job begins when the first blocker has ended",
        (13,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.chain_ends",
                    "if left == 0 and job.status is Status.BLOCKED:",
                    "if job.status is Status.BLOCKED:",
                ),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.blockers",
                    'if left == 0 and status == "blocked":',
                    'if status == "blocked":',
                ),
            ),
            "postgres": (postgres("unblock", "job.open_blockers = counted.done", "job.open_blockers >= counted.done"),),
            "redis": (
                Edit(
                    "shared/release_dependents.lua",
                    "if job.open_blockers == 0 and job.status == BLOCKED then",
                    "if job.status == BLOCKED then",
                ),
            ),
        },
        favour=("start_fan_in",),
    ),
    "locks in any order": Mutant(
        "the rule that a lock wait happens with no other row locks held, and the order in which rows are locked",
        (30,),
        {
            "postgres": (
                postgres(
                    "lock_jobs",
                    "order by job.seq\n       for update skip locked",
                    "order by random()\n       for update",
                ),
            )
        },
        favour=("start_fan_in",),
    ),
    "cycles accepted": Mutant(
        "the refusal of a job whose blocker waits for the job's own chain",
        (30,),
        {
            "memory": (_ACCEPT_CYCLES,),
            "sqlite": (_ACCEPT_CYCLES,),
            "postgres": (_ACCEPT_CYCLES,),
            "redis": (Edit("shared/dependency_cycle.lua", "if blocker == own then", "if false then"),),
        },
        favour=("start_mutual",),
    ),
    "complete twice": Mutant(
        "the lock on a chain while it is completed from outside, and the check that it is unfinished",
        (4, 17),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.complete",
                    "if job.id != op.job_id or job.status.finished:",
                    "if job.id != op.job_id:",
                ),
            ),
            "sqlite": (
                _LOOK_FIRST,
                Edit(
                    "holdfast.stores.sqlite.verbs.complete",
                    "if job.id != operation.job_id or job.status.finished:",
                    "if job.id != operation.job_id:",
                ),
            ),
            "postgres": (
                _LOOK_FIRST,
                Edit(
                    "holdfast.stores.postgres.verbs.complete",
                    "if tail.id != op.job_id or tail.status in FINISHED:",
                    "if tail.id != op.job_id:",
                ),
            ),
            "redis": (
                Edit("complete.lua", "if job.id ~= op[2] or FINISHED[job.status] then", "if job.id ~= op[2] then"),
            ),
        },
        favour=("complete",),
    ),
}
