"""Mutants of starts: keys, the application's transaction, and payloads."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "no keys": Mutant(
        "the search for a chain with the same key",
        (14,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.start",
                    "            chain_id not in job.exclude\n",
                    "            chain_id in job.exclude\n",
                ),
            ),
            "sqlite": (sqlite("find_key", "and first.created_at > :since", "and 0 and first.created_at > :since"),),
            "postgres": (postgres("find_keys", "limit 1) found", "limit 0) found"),),
            "redis": (
                Edit(
                    "shared/find_by_key.lua",
                    "local function find_by_key(job)\n",
                    "local function find_by_key(job)\n  do return nil end\n",
                ),
            ),
        },
    ),
    "keys without locks": Mutant(
        "the lock on a key: two callers may both find no chain and create one",
        (14,),
        {"postgres": (postgres("lock_keys", "do update set used_at = excluded.used_at", "do nothing"),)},
        favour=("start_keyed",),
    ),
    "a transaction of its own": Mutant(
        "the application's transaction: the start commits by itself",
        (1, 3),
        {"postgres": ()},
        everywhere=(
            Edit(
                "holdfast.client.tx_events",
                "answer = await procedures.run(joined.perform, call)",
                "answer = await procedures.run(self._store.perform, call)",
            ),
        ),
        favour=("start_with_business",),
    ),
    "commit for the application": Mutant(
        "the rule that only the application ends its transaction: its rollback has no effect",
        (2,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.connection.app_transactions",
                    "    answer = yield from plan(operation, context)\n",
                    "    answer = yield from plan(operation, context)\n"
                    '    yield Statement("commit")\n'
                    '    yield Statement("begin immediate")\n',
                ),
            ),
            "postgres": (
                Edit(
                    "holdfast.stores.postgres.connection.app_transactions",
                    "answer = yield from plan_of(context, operation)\n",
                    'answer = yield from plan_of(context, operation)\n        yield Statement("commit")\n',
                ),
            ),
        },
        favour=("start_with_business",),
    ),
    "rounded payloads": Mutant(
        "the digits of large numbers, which a script would lose if it decoded JSON",
        (20,),
        everywhere=(
            Edit(
                "holdfast.client.new_jobs",
                "bound.input,",
                'bound.input.replace(b"9007199254740993", b"9007199254740992"),',
            ),
        ),
        favour=("odd",),
    ),
}
