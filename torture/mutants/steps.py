"""Mutants of steps and messages."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres

_LATE = (
    # Attempts that detect the lost claim abort themselves, which would hide the missing check.
    Edit("holdfast.worker.lease_guard", 'held_claim.abort(reasons.get(held_claim.record.id, "error"))', "pass"),
    Edit("holdfast.worker.lease_renewer", "held_claim.abort(reason)", "pass"),
)

MUTANTS: dict[str, Mutant] = {
    "checkpoints of any token": Mutant(
        "the token of a checkpoint: a stale attempt stores its steps",
        (7, 35),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.steps",
                    "lost_reason(status, token, each.claim.token)",
                    'lost_reason(status, token, token or "")',
                ),
            ),
            "postgres": (
                postgres("save_steps", "held.id = asked.id and held.token = asked.token", "held.id = asked.id"),
                Edit(
                    "holdfast.stores.postgres.verbs.steps",
                    "lost_reason(status, token, each.claim.token)",
                    'lost_reason(status, token, token or "")',
                ),
            ),
            "redis": (Edit("save_steps.lua", "lost_reason(job, given[2])", "lost_reason(job, (job or {}).token)"),),
        },
        everywhere=_LATE,
        favour=("start_steps",),
        faults=("freeze",),
        # An attempt is frozen with a result that is not stored yet, and continues while another one runs the step.
        often={"stop before save_steps": 0.05},
        rate=3,
        longer=10,
    ),
    "a checkpoint after its writes": Mutant(
        "the single commit of a transactional step: the checkpoint is stored after the commit of the writes",
        (35,),
        {"sqlite": (), "postgres": ()},
        everywhere=(
            Edit(
                "holdfast.worker.steps.tx_step_logic",
                "(reason,) = yield Perform(tx, SaveSteps((checkpoint,)))",
                "reason = None",
            ),
            Edit(
                "holdfast.worker.steps.tx_step_logic",
                "yield Commit(tx)\n        log.saved(checkpoint)",
                "yield Commit(tx)\n        yield CallInTx(lambda _: self._steps.save(checkpoint), tx)",
            ),
        ),
        favour=("start_steps",),
        faults=("freeze", "kill"),
        often={"kill before save_steps": 0.02, "stop before save_steps": 0.02},
        rate=3,
        longer=6,
    ),
    "the last message wins": Mutant(
        "the check that a name has no value yet",
        (36,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.steps",
                    "if value is not None:\n        return False",
                    "if value is not None and not operation.value:\n        return False",
                ),
            ),
            "postgres": (postgres("send", "where message.value is null", "where message.name is not null"),),
            "redis": (
                Edit(
                    "send.lua",
                    "redis.call('HSETNX', messages, 'v' .. name, payload(op[3])) == 0",
                    "redis.call('HSET', messages, 'v' .. name, payload(op[3])) == 2",
                ),
            ),
        },
        favour=("start_steps",),
    ),
}
