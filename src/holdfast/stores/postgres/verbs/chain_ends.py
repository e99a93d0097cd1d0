"""The end of a chain: unblock, fail or cancel the jobs that wait for it. All these jobs are locked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.core import failure
from holdfast.core.blocker_rules import NONE_FAILED, WHEN_FAILED, waiting_status, waits_for_end
from holdfast.core.record import Status
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.postgres.verbs.hooks import start_hooks
from holdfast.stores.sql.plan import Statement

_UNBLOCK = SQL["unblock"]
_BROKEN = SQL["broken_dependents"]
_FAIL = SQL["fail_blocked"]
_CANCEL = SQL["cancel_waiting"]
_UNBLOCK_WAITING = SQL["unblock_waiting"]
_COUNT_ENDS = SQL["count_ends"]
_SET_OPEN = SQL["set_open_blockers"]
_NAMED_BY = SQL["named_by"]


class Unblocked(NamedTuple):
    """A job that is no longer blocked, and the chains that ended for it."""

    id: str
    type: str
    after: Sequence[str]


class _Counted(NamedTuple):
    """A job that waits for a failure or for ends, after the end of some of its blockers."""

    seq: int
    id: str
    rule: str
    after: Sequence[str]


def unblock_dependents(context: PlanContext, chain_ids: Sequence[str]) -> Plan[list[Unblocked]]:
    """Decrement the open blockers of all jobs that wait for these completed chains. Returns the unblocked jobs."""
    unblocked: list[Unblocked] = []
    counted: list[_Counted] = []
    for row in sorted((yield Statement(_UNBLOCK, {"chain_ids": list(chain_ids), "now": context.now}))):
        seq, id, chain_id, type, attempt, worker, freed, after, rule, left = row
        if freed:
            unblocked.append(Unblocked(id, type, after))
            context.hints.due.add(type)
            context.record("unblocked", id, chain_id, type, attempt, worker)
        elif waits_for_end(rule) and left <= 0:
            counted.append(_Counted(seq, id, rule, after))
    if counted:
        unblocked += yield from _decide(context, counted)
    return unblocked


def fail_dependents(context: PlanContext, chain_ids: Iterable[str]) -> Plan[list[Unblocked]]:
    """Update dependents of failed or cancelled chains that do not wait for completions, and recursively theirs.

    Returns the unblocked jobs.
    """
    unblocked: list[Unblocked] = []
    for root in chain_ids:
        broken = [root]
        while broken:
            chain_id = broken.pop()
            rules: dict[str, dict[int, str]] = {}
            for seq, id, rule in (yield Statement(_BROKEN, {"chain_id": chain_id})):
                rules.setdefault(rule, {})[seq] = id
            if failing := rules.pop("fail", None):
                broken += yield from fail(context, list(failing), chain_id)
            if failures := rules.pop(WHEN_FAILED, None):
                unblocked += yield from _unblock(context, list(failures), {id: [chain_id] for id in failures.values()})
            for rule, jobs in rules.items():
                rows = yield Statement(_COUNT_ENDS, {"seqs": list(jobs)})
                counted = [_Counted(seq, id, rule, [chain_id]) for seq, id, left in sorted(rows) if left <= 0]
                unblocked += yield from _decide(context, counted)
    return unblocked


def fail(context: PlanContext, seqs: Sequence[int], blocker: str) -> Plan[list[str]]:
    """Fail locked jobs because of a blocker. Returns those of their chains for which other jobs wait."""
    error = failure.write("BlockerFailed", f"chain {blocker}, which this job waited for, did not complete")
    awaited_chains: list[str] = []
    detailed: list[str] = []
    for row in sorted((yield Statement(_FAIL, {"seqs": list(seqs), "error": error, "now": context.now}))):
        _, id, chain_id, type, attempt, worker, awaited, has_details = row
        context.hints.finished.add(chain_id)
        context.record("failed", id, chain_id, type, attempt, worker)
        if awaited:
            awaited_chains.append(chain_id)
        if has_details:
            detailed.append(chain_id)
    if detailed:
        yield from start_hooks(context, [chain.last for chain in (yield from chains.read(detailed)).values()])
    return awaited_chains


def cancel_waiting(context: PlanContext, seqs: Sequence[int]) -> Plan[list[str]]:
    """Cancel locked jobs that wait for a failure: their blockers completed. Returns their chains that are awaited."""
    awaited_chains: list[str] = []
    for row in sorted((yield Statement(_CANCEL, {"seqs": list(seqs), "error": NONE_FAILED, "now": context.now}))):
        _, id, chain_id, type, awaited = row
        context.hints.finished.add(chain_id)
        context.record("cancelled", id, chain_id, type, 0)
        if awaited:
            awaited_chains.append(chain_id)
    return awaited_chains


def _decide(context: PlanContext, counted: Sequence[_Counted]) -> Plan[list[Unblocked]]:
    """Read all blockers of these jobs, whose counts are 0. Unblock or cancel the jobs, or correct the counts."""
    named: dict[str, list[str]] = {}
    for job_id, chain_id in (yield Statement(_NAMED_BY, {"ids": [job.id for job in counted]})):
        named.setdefault(job_id, []).append(chain_id)
    tails = yield from chains.tails({chain_id for after in named.values() for chain_id in after})
    unblocked: list[Unblocked] = []
    broken: list[tuple[list[str], Sequence[str]]] = []
    for job in counted:
        statuses = {id: tails[id].status for id in named.get(job.id, ()) if id in tails}
        status, left = waiting_status(job.rule, statuses.values())
        if status is Status.PENDING:
            unblocked += yield from _unblock(context, [job.seq], {job.id: job.after})
        elif status is Status.CANCELLED:
            broken.append(((yield from cancel_waiting(context, [job.seq])), job.after))
        else:
            yield Statement(_SET_OPEN, {"seq": job.seq, "open_blockers": left})
    # Run after all jobs are decided: a chain that ends because of one of these jobs may be a blocker of another one.
    for chain_ids, after in broken:
        unblocked += [each._replace(after=after) for each in (yield from fail_dependents(context, chain_ids))]
    return unblocked


def _unblock(context: PlanContext, seqs: Sequence[int], after: dict[str, Sequence[str]]) -> Plan[list[Unblocked]]:
    """Make jobs pending. `after` has the chains that ended, for each job."""
    unblocked: list[Unblocked] = []
    for row in sorted((yield Statement(_UNBLOCK_WAITING, {"seqs": list(seqs), "now": context.now}))):
        _, id, chain_id, type, attempt, worker = row
        unblocked.append(Unblocked(id, type, after[id]))
        context.hints.due.add(type)
        context.record("unblocked", id, chain_id, type, attempt, worker)
    return unblocked
