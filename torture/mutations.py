"""Mutants: each takes one protection away. A run on one must go red, by an invariant that is named here.

Imports nothing of the library: the texts are changed before it is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """A text to be replaced in a source of the library: a module, a statement (`.sql`) or a script (`.lua`)."""

    where: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is taken away, from which stores, and which invariants should notice: any of them will do."""

    missing: str
    caught_by: tuple[int, ...]
    by_store: dict[str, tuple[Edit, ...]] = field(default_factory=dict[str, tuple[Edit, ...]])
    everywhere: tuple[Edit, ...] = ()
    """Edits that do not depend on the store."""
    stores: tuple[str, ...] = ()
    """Where it can be tried; by default where it has edits of its own, or everywhere."""
    favour: tuple[str, ...] = ()
    """Operations that a producer should perform more often, so that the race comes about soon."""
    faults: tuple[str, ...] = ()
    """Kinds of faults to choose from; all of them where none is named."""
    workers_clock: bool = False
    address: str = ""
    """What is appended to the store's address."""

    def edits(self, store: str) -> tuple[Edit, ...]:
        return self.everywhere + self.by_store.get(store, ())

    def fits(self, store: str) -> bool:
        return store in (self.stores or tuple(self.by_store) or ("sqlite", "postgres", "redis"))


def _sqlite(file: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.sqlite.sql/{file}.sql", old, new)


def _postgres(file: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.postgres.sql/{file}.sql", old, new)


_SAME_TOKEN = " and asked.token = held.token"
_NAIVE_LOOK = (
    "not exists (select 1 from holdfast.blocker b join holdfast.job step on step.chain_id = b.chain_id"
    " where b.job_id = job.id and step.status <> 'completed')"
)

MUTANTS: dict[str, Mutant] = {
    "fence by status alone": Mutant(
        "the token in the guard of a settlement",
        (5, 7),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.state", "is Status.RUNNING and record.token == token", "is Status.RUNNING"
                ),
            ),
            "sqlite": (Edit("holdfast.stores.sqlite.settling", " or job.token != token or", " or"),),
            "postgres": (
                *(
                    _postgres(file, _SAME_TOKEN, "")
                    for file in ("settle_completed", "settle_continued", "settle_ended")
                ),
                Edit("holdfast.stores.postgres.rows", 'case "running" if held_by == token:', 'case "running":'),
            ),
            "redis": (
                Edit("shared/change.lua", "job.status == RUNNING and job.token == token", "job.status == RUNNING"),
            ),
        },
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "renew whoever holds it": Mutant(
        "the token in the guard of a renewal",
        (7,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.holding",
                    "        if reason := state.lost(job, held.token):\n            lost",
                    '        if reason := state.lost(job, (job and job.token) or ""):\n            lost',
                ),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.holding",
                    "lost(holders.get(held.job_id), held.token):\n            answer",
                    'lost(holders.get(held.job_id), holders.get(held.job_id, ("", ""))[1] or ""):\n            answer',
                ),
                _sqlite("renew", " and token = :token", ""),
            ),
            "postgres": (
                _postgres("renew", " and asked.token = job.token", ""),
                Edit(
                    "holdfast.stores.postgres.holding",
                    "lost(status, token, claim.token):\n                reasons",
                    'lost(status, token, token or ""):\n                reasons',
                ),
            ),
            "redis": (Edit("renew.lua", "lost(job, claim[2])", "lost(job, job and job.token)"),),
        },
        # An attempt that stops itself in time asks for no renewal any more.
        everywhere=(Edit("holdfast.worker.fencer", 'holding.abort("error")', "pass"),),
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "claim without locks": Mutant(
        "for update skip locked in the claim",
        (4, 6, 8),
        {"postgres": (_postgres("claim", "for update skip locked", ""),)},
    ),
    "unblock by looking": Mutant(
        "the locks and the counter of blockers: whoever ends looks whether the others have",
        (13, 30),
        {
            "postgres": (
                _postgres("unblock", "job.open_blockers = counted.done", _NAIVE_LOOK),
                _postgres(
                    "settling",
                    "where :completing::boolean and claimed.id",
                    "where :completing::boolean and false and claimed.id",
                ),
            )
        },
        favour=("start_fan_in",),
    ),
    "continuation apart": Mutant(
        "the one step for an end and what follows it: once in twenty times a crash comes in between",
        (12,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.holding",
                    "            if next_job is not None:\n                creating.add",
                    "            if next_job is not None and now % 20:\n                creating.add",
                ),
            ),
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.settling",
                    "            self._continuations.append(next_job)",
                    "            __import__('random').random() < 0.05 or self._continuations.append(next_job)",
                ),
            ),
            "postgres": (
                _postgres(
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
    "waiters that only listen": Mutant(
        "the look at the chain now and then: wake-ups may be lost",
        (18,),
        everywhere=(Edit("holdfast.waiting", "POLL = 5.0", "POLL = 600.0"),),
        favour=("request",),
        # Whoever is told late because the store was away proves nothing.
        faults=("kill",),
    ),
    "no look after subscribing": Mutant(
        "the look at the chain after subscribing: what ended before is not heard",
        (18,),
        everywhere=(
            Edit("holdfast.waiting", "POLL = 5.0", "POLL = 600.0"),
            Edit("holdfast.waiting", "look: bool = True) -> Waiting", "look: bool = False) -> Waiting"),
        ),
        favour=("request",),
        faults=("kill",),
    ),
    "the worker's clock": Mutant(
        "the store's clock, in a fleet where one clock is an hour wrong",
        (6, 9, 10),
        stores=("postgres", "redis"),
        workers_clock=True,
    ),
    "no reaper": Mutant(
        "the reaper",
        (10, 11, 30),
        everywhere=(
            Edit("holdfast.worker.reaper", "return ticks() >= self._reaped + REAP_EVERY", "return self._reaped < 0"),
        ),
    ),
    "impatient reaper": Mutant(
        "the reaper's wait for the lease's end",
        (6,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.holding",
                    "(job.leased_until or 0) <= now",
                    "(job.leased_until or 0) <= now + 900000",
                ),
            ),
            "sqlite": (_sqlite("reap_expired", "leased_until <= :now", "leased_until <= :now + 900000"),),
            "postgres": (
                _postgres(
                    "reap_expired", "job.leased_until <= :now::bigint", "job.leased_until <= :now::bigint + 900000"
                ),
            ),
            "redis": (Edit("reap.lua", "'-inf', int(now)", "'-inf', int(now + 900000)"),),
        },
    ),
    "attempts without end": Mutant(
        "the limit of attempts when a lease is lost",
        (8, 11),
        {
            "redis": (
                Edit("reap.lua", "local again = not job.max_attempts", "local again = true or not job.max_attempts"),
            )
        },
        everywhere=(Edit("holdfast.lifecycle", "return job.max_attempts in (None, FOR_EVER) or", "return True or"),),
        stores=("sqlite", "postgres", "redis"),
        favour=("start_poison",),
    ),
    "no keys": Mutant(
        "the look for a chain of the same key",
        (14,),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.creating",
                    "            chain_id not in job.exclude\n",
                    "            chain_id in job.exclude\n",
                ),
            ),
            "sqlite": (_sqlite("find_key", "and first.created_at > :since", "and 0 and first.created_at > :since"),),
            "postgres": (_postgres("find_keys", "limit 1) found", "limit 0) found"),),
            "redis": (
                Edit(
                    "shared/by_key.lua",
                    "local function by_key(job)\n",
                    "local function by_key(job)\n  do return nil end\n",
                ),
            ),
        },
    ),
    "keys without locks": Mutant(
        "the lock on a key: two may look before either creates",
        (14,),
        {"postgres": (_postgres("lock_keys", "do update set used_at = excluded.used_at", "do nothing"),)},
        favour=("start_keyed",),
    ),
    "end after a cancel": Mutant(
        "the check that a job still runs, for one that was cancelled meanwhile",
        (4, 16),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.settling",
                    'job.status != "running" or job.token != token or',
                    'job.status not in ("running", "cancelled") or',
                ),
                _sqlite("settle_completed", "and status = 'running' and token = :token", ""),
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
    "claim too early": Mutant(
        "the wait for a job's time, by half a second",
        (9,),
        {
            "memory": (
                Edit("holdfast.stores.memory.holding", "scheduled[0][0] <= now:", "scheduled[0][0] <= now + 500000:"),
            ),
            "sqlite": (
                _sqlite("claim_due", "scheduled_at <= :now", "scheduled_at <= :now + 500000"),
                Edit("holdfast.stores.sqlite.holding", "<= turn.now:", "<= turn.now + 500000:"),
            ),
            "postgres": (
                _postgres("claim", "<= (select clock.now from clock)", "<= (select clock.now + 500000 from clock)"),
            ),
            "redis": (Edit("claim.lua", "'-inf', int(now)", "'-inf', int(now + 500000)"),),
        },
        favour=("delay",),
    ),
    "commit though stale": Mutant(
        "the guard of a completion transaction, and its rollback when the claim is lost",
        (5,),
        {"sqlite": (), "postgres": ()},
        everywhere=(
            # Attempts that know of their loss end themselves: that would hide what is missing.
            Edit("holdfast.worker.fencer", 'holding.abort("error")', "pass"),
            Edit("holdfast.worker.renewer", "holding.abort(reason)", "pass"),
            Edit("holdfast.worker.attempt", "await tx.perform(Guard(self.claim))", "pass"),
            Edit(
                "holdfast.worker.call", "await (tx.commit() if answer.written else tx.rollback())", "await tx.commit()"
            ),
        ),
        favour=("start_slow",),
        faults=("freeze",),
    ),
    "prune too early": Mutant(
        "the keep time, by nine tenths of a second",
        (19,),
        {
            "sqlite": (_sqlite("prune_expired", "last.expires_at <= :now", "last.expires_at <= :now + 900000"),),
            "postgres": (
                _postgres("prune_expired", "job.expires_at <= :now::bigint", "job.expires_at <= :now::bigint + 900000"),
            ),
            "redis": (Edit("prune.lua", "'-inf', int(now)", "'-inf', int(now + 900000)"),),
        },
        favour=("start_brief",),
    ),
    "a transaction of its own": Mutant(
        "the application's transaction: the start commits by itself",
        (1, 3),
        {"postgres": ()},
        everywhere=(
            Edit(
                "holdfast.client",
                "self.store.perform if tx is None else self.store.join(tx).perform",
                "self.store.perform",
            ),
        ),
        favour=("start_with_business",),
    ),
    "complete twice": Mutant(
        "the check that a chain is unfinished when it is completed from outside",
        (4, 17),
        {
            "memory": (
                Edit(
                    "holdfast.stores.memory.completing",
                    "if job.id != op.job_id or job.status.finished:",
                    "if job.id != op.job_id:",
                ),
            ),
            "redis": (
                Edit("complete.lua", "if job.id ~= op[2] or FINISHED[job.status] then", "if job.id ~= op[2] then"),
            ),
        },
        favour=("complete",),
    ),
    "locks in any order": Mutant(
        "the rule that who waits for a row holds none, and the order in which rows are locked",
        (30,),
        {
            "postgres": (
                _postgres(
                    "lock_jobs",
                    "order by job.seq\n       for update skip locked",
                    "order by random()\n       for update",
                ),
            )
        },
        favour=("start_fan_in",),
    ),
    "rounded payloads": Mutant(
        "the digits of large numbers, as a script that decodes JSON would lose them",
        (20,),
        everywhere=(
            Edit(
                "holdfast.starting",
                "bound.input,",
                'bound.input.replace(b"9007199254740993", b"9007199254740992"),',
            ),
        ),
        favour=("odd",),
    ),
    "acknowledge before the disk": Mutant(
        "the wait for the log on disk, through crashes of the server",
        (1, 3, 5, 7),
        {"postgres": ()},
        faults=("server restart",),
        address="&options=-csynchronous_commit%3Doff",
    ),
    "sleep until woken": Mutant(
        "the worker's own look now and then: wake-ups may be lost",
        (10, 23, 30),
        everywhere=(
            Edit(
                "holdfast.worker.feeder", "return await self._alarm.wait(poll)", "return await self._alarm.wait(3600)"
            ),
        ),
    ),
}
