"""Mutants of interrupted blocking calls: their resources are not released, or are used again."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant

_UNLESS_INTERRUPTED = "__import__('sys').exc_info()[0] is KeyboardInterrupt or "
_FAILED = "            except BaseException:\n"

MUTANTS: dict[str, Mutant] = {
    "interrupted in the queue": Mutant(
        "the release of the place in the write queue, or of the connection slot, when a call is interrupted",
        (30,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.writing.writer",
                    "                queue.waiters.pop(waiter, None)\n",
                    f"                {_UNLESS_INTERRUPTED}queue.waiters.pop(waiter, None)\n",
                ),
            ),
            "postgres": (
                Edit(
                    "holdfast.stores.postgres.connection.pool",
                    "            self._queue.entries.pop(entry, None)\n",
                    f"            {_UNLESS_INTERRUPTED}self._queue.entries.pop(entry, None)\n",
                ),
            ),
        },
        faults=("kill",),
        interrupted=True,
    ),
    "interrupted and used again": Mutant(
        "the closing of a connection whose exchange was interrupted: the next call gets its answer",
        (1, 30),
        {
            "redis": (
                Edit(
                    "holdfast.stores.redis.connection.connection_pool",
                    f"{_FAILED}                self._drop(connection)\n                raise\n",
                    f"{_FAILED}                connection and self._give_back(connection)\n                raise\n",
                ),
            ),
        },
        faults=("kill",),
        interrupted=True,
    ),
}
