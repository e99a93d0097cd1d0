"""The end of a chain and the jobs that wait for it: unblock them, or fail them."""

from __future__ import annotations

from holdfast.core import failure
from holdfast.core.lifecycle import NewJob
from holdfast.stores.sql.plan import Execution, Many, Plan, Statement
from holdfast.stores.sqlite.rows import SQL

_DEPENDENTS = SQL["dependents"]
_UNBLOCK = SQL["unblock"]
_BROKEN_DEPENDENTS = SQL["broken_dependents"]
_FAIL = SQL["fail_blocked"]


def completed(execution: Execution, chain_id: str) -> Plan[list[tuple[str, str]]]:
    """A chain completed: decrement `open_blockers` of its dependents. Returns those that are no longer blocked."""
    left: dict[int, int] = {}
    changes: list[dict[str, object]] = []
    unblocked: list[tuple[str, str]] = []
    for row in (yield Statement(_DEPENDENTS, {"chain_id": chain_id})):
        seq, id, type, dependent_chain, status, open_blockers, scheduled_at, attempt, worker = row
        left[seq] = left.setdefault(seq, open_blockers) - 1
        if left[seq] == 0 and status == "blocked":
            status, scheduled_at = "pending", max(scheduled_at, execution.now)
            unblocked.append((id, type))
            execution.hints.due.add(type)
            execution.record("unblocked", id, dependent_chain, type, attempt, worker)
        changes.append({"seq": seq, "status": status, "open_blockers": left[seq], "scheduled_at": scheduled_at})
    if changes:
        yield Many(_UNBLOCK, changes)
    return unblocked


def broken(execution: Execution, chain_id: str) -> Plan[None]:
    """A chain failed or was cancelled: fail its dependents that have on_blocker_failure='fail', and theirs in turn."""
    chains = [chain_id]
    while chains:
        chain_id = chains.pop()
        rows = yield Statement(_BROKEN_DEPENDENTS, {"chain_id": chain_id})
        if rows:
            yield Many(_FAIL, [{"id": id, "error": _broken(chain_id), "now": execution.now} for _, id, *_ in rows])
        for _, id, type, dependent_chain, attempt, worker in rows:
            execution.hints.finished.add(dependent_chain)
            execution.record("failed", id, dependent_chain, type, attempt, worker)
            chains.append(dependent_chain)


def fail_with(execution: Execution, job: NewJob, chain_id: str) -> Plan[None]:
    """Fail a new job because one of its blockers did not complete."""
    yield Statement(_FAIL, {"id": job.id, "error": _broken(chain_id), "now": execution.now})
    execution.hints.finished.add(job.chain_id)
    execution.record("failed", job.id, job.chain_id, job.type, 0)


def _broken(chain_id: str) -> bytes:
    return failure.write("BlockerFailed", f"chain {chain_id}, which this job waited for, did not complete")
