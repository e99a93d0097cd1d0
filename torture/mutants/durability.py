"""Mutants of durability: keep times, replaced files, and acknowledgement before the commit is on disk."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "prune too early": Mutant(
        "the keep time: chains are pruned up to nine tenths of a second early",
        (19,),
        {
            "sqlite": (sqlite("prune_expired", "last.expires_at <= :now", "last.expires_at <= :now + 900000"),),
            "postgres": (
                postgres("prune_expired", "job.expires_at <= :now::bigint", "job.expires_at <= :now::bigint + 900000"),
            ),
            "redis": (Edit("prune.lua", "'-inf', int(now)", "'-inf', int(now + 900000)"),),
        },
        favour=("start_brief",),
    ),
    "write to a replaced file": Mutant(
        "the check that the path still leads to the file that was opened",
        (1,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.connection.database_file",
                    "        if file_checks.identity(self._path_text) != self._identity:\n",
                    "        if False:\n",
                ),
            ),
        },
        faults=("file replaced",),
    ),
    "acknowledge before the disk": Mutant(
        "the wait until the WAL is on disk, with crashes of the server",
        (1, 3, 5, 7),
        {"postgres": ()},
        faults=("server restart",),
        address="&options=-csynchronous_commit%3Doff",
    ),
}
