"""Mutants of the checks that reject writes of a lost claim."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

_SAME_TOKEN = " and asked.token = held.token"

_GUARDED = f"{_SAME_TOKEN}\n     where held.status = 'running'"
_ANY_TOKEN = Edit(
    "holdfast.core.lost_claims", 'if status == "running" and current_token == token:', 'if status == "running":'
)
# A cancelled job has no token.
_CANCELLED_TOO = ("and status = 'running' and token = ?", "and status in ('running', 'cancelled') and token is ?")
_LENIENT = """
def lost_reason(status, current_token, token):
    return None if status == "cancelled" else plain(status, current_token, token)
"""

MUTANTS: dict[str, Mutant] = {
    "fence by status alone": Mutant(
        "the token in the guard of a settlement",
        (5, 7),
        {
            "memory": (_ANY_TOKEN,),
            "sqlite": (Edit("holdfast.stores.sqlite.verbs.settle", " or job.token != token or", " or"),),
            "postgres": (
                *(postgres(file, _SAME_TOKEN, "") for file in ("settle_completed", "settle_continued", "settle_ended")),
                _ANY_TOKEN,
            ),
            "redis": (
                Edit("shared/change.lua", "job.status == RUNNING and job.token == token", "job.status == RUNNING"),
            ),
        },
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "renew any token": Mutant(
        "the token in the guard of a renewal",
        (7,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.verbs.renew",
                    "        if reason := state.lost(job, held.token):\n            lost",
                    '        if reason := state.lost(job, (job and job.token) or ""):\n            lost',
                ),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.renew",
                    "lost_reason(status, token, claim.token):",
                    'lost_reason(status, token, token or ""):',
                ),
                sqlite("renew", " and token = :token", ""),
            ),
            "postgres": (
                postgres("renew", " and asked.token = job.token", ""),
                Edit(
                    "holdfast.stores.postgres.verbs.renew",
                    "lost_reason(status, token, claim.token):\n                reasons",
                    'lost_reason(status, token, token or ""):\n                reasons',
                ),
            ),
            "redis": (Edit("renew.lua", "lost_reason(job, claim[2])", "lost_reason(job, job and job.token)"),),
        },
        # An attempt that aborts itself in time is not renewed any more.
        everywhere=(
            Edit("holdfast.worker.lease_guard", 'held_claim.abort(reasons.get(held_claim.record.id, "error"))', "pass"),
        ),
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "commit though stale": Mutant(
        "the guard of a completion transaction, and its rollback when the claim is lost",
        (5,),
        {"sqlite": (), "postgres": ()},
        everywhere=(
            # Attempts that detect the lost claim abort themselves, which would hide the missing guard.
            Edit("holdfast.worker.lease_guard", 'held_claim.abort(reasons.get(held_claim.record.id, "error"))', "pass"),
            Edit("holdfast.worker.lease_renewer", "held_claim.abort(reason)", "pass"),
            Edit("holdfast.worker.attempt_blocks", "yield Perform(tx, Guard(self.claim))", "pass"),
            Edit(
                "holdfast.worker.handler_call",
                "await (tx.commit() if answer.written else tx.rollback())",
                "await tx.commit()",
            ),
        ),
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "end after a cancel": Mutant(
        "the check that a job still runs, for one that was cancelled meanwhile",
        (4, 16),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.settle",
                    'job.status != "running" or job.token != token or',
                    'job.status not in ("running", "cancelled") or',
                ),
                sqlite("settle_completed", *_CANCELLED_TOO),
                sqlite("settle_completed_lanes", *_CANCELLED_TOO),
            ),
            "postgres": (
                postgres(
                    "settle_completed",
                    _GUARDED,
                    " and (asked.token = held.token or held.status = 'cancelled')"
                    "\n     where held.status in ('running', 'cancelled')",
                ),
                Edit(
                    "holdfast.stores.postgres.verbs.settle",
                    "import lost_reason\n",
                    f"import lost_reason as plain\n{_LENIENT}",
                ),
            ),
            "redis": (
                Edit(
                    "shared/change.lua",
                    "job.status == RUNNING and job.token == token",
                    "job.status == CANCELLED or job.status == RUNNING and job.token == token",
                ),
            ),
        },
        favour=("cancel_at_once",),
    ),
}
