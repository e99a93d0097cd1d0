"""The findings of `holdfast doctor` about a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.core.clock import SECOND
from holdfast.engine.operations import Examine, Finding
from holdfast.stores import held_orders, late_jobs
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Row, Statement

_SERVER = SQL["examine_server"]
_HORIZON = SQL["examine_horizon"]
_EXPIRED = SQL["examine_expired"]
_OLDEST = SQL["examine_oldest"]
_HELD = SQL["held_orders"]
_HOLDERS = SQL["examine_holders"]

OLDEST_SERVER = 130000
DEAD = 50_000
"""Ten times the number of dead rows at which autovacuum starts."""


def examine(context: PlanContext, op: Examine) -> Plan[list[Finding]]:
    findings: list[Finding] = []
    ((number, version, dead, live, missing, unsafe, standby, queue),) = yield Statement(_SERVER)
    findings.append(_version(number, version))
    findings.append(_missing(missing))
    findings += _settings(unsafe)
    if standby:
        findings.append(Finding("error", "role", "this server is a standby: nothing can be written here"))
    findings += _horizon((yield Statement(_HORIZON)))
    detail = f"{dead} of {dead + live} rows"
    findings.append(Finding("warning" if dead > DEAD else "ok", "dead rows", detail))
    if queue > 0.5:
        findings.append(
            Finding("warning", "notifications", f"the server's queue is {queue:.0%} full: a listener sleeps")
        )
    ((expired, longest),) = yield Statement(_EXPIRED, {"now": context.clock})
    holders: list[Row] = (yield Statement(_HOLDERS, {"now": context.clock})) if expired else []
    findings.append(late_jobs.expired(expired, longest, held=len({holder[0] for holder in holders})))
    findings += _held(holders)
    oldest = yield Statement(_OLDEST, {"now": context.clock})
    findings.append(late_jobs.oldest(*oldest[0]) if oldest else late_jobs.oldest(None, None))
    findings += held_orders.findings((yield Statement(_HELD, {"limit": held_orders.SHOWN})))
    return findings


def _version(number: int, version: str) -> Finding:
    if number < OLDEST_SERVER:
        return Finding("error", "postgresql", f"{version} is too old: 13 is the oldest that is supported")
    return Finding("ok", "postgresql", version)


def _missing(indexes: list[str]) -> Finding:
    if indexes:
        detail = (
            f"missing or invalid: {', '.join(indexes)}; `holdfast migrate --sql` prints the statements that create them"
        )
        return Finding("error", "indexes", detail)
    return Finding("ok", "indexes", "all exist")


def _settings(unsafe: list[str]) -> Iterator[Finding]:
    for setting in unsafe:
        if setting.startswith(("autovacuum", "track_counts")):
            yield Finding("error", "vacuum", f"{setting}: dead rows are never removed, so claims become slower")
        else:
            yield Finding(
                "error", "durability", f"{setting}: a crash of the server may lose or damage what it committed"
            )
    if not unsafe:
        yield Finding("ok", "settings", "what is committed survives a crash, and dead rows are removed")


def _horizon(holders: list[Row]) -> Iterator[Finding]:
    for kind, name, transactions, detail in holders:
        text = f"{kind} {name} ({detail}) keeps dead rows of the last {transactions} transactions from being removed"
        end = f"; end it with select pg_terminate_backend({name})" if kind == "session" else ""
        yield Finding("warning", "old snapshot", text + end)
    if not holders:
        yield Finding("ok", "old snapshot", "none")


def _held(holders: list[Row]) -> Iterator[Finding]:
    """Sessions that lock jobs with an expired lease, and how to end each session."""
    for job_id, late, pid, certain, kind, role, detail in holders:
        holds = "holds" if certain else "may hold"
        text = f"session {pid} ({detail}) {holds} job {job_id}, whose lease ran out {late / SECOND:.0f} s ago"
        yield Finding("warning", "held job", f"{text}; {_ENDS[kind].format(pid=pid, role=role)}")


_ENDS: Final = {
    "attempt": "its worker is lost: the next worker of its type ends this session, and so does cancelling the job",
    "protected": "its worker is lost, but this role may not end sessions of role {role}: "
    "end it as role {role} with select pg_terminate_backend({pid}), or make this role a member",
    "hidden": "this role may not see what a session of role {role} does, and does not end it: "
    "end it as role {role} with select pg_terminate_backend({pid})",
    "untracked": "track_activities is off, so no worker can see whether it commits: "
    "end it with select pg_terminate_backend({pid})",
    "committing": "it waits for its COMMIT and is never terminated: is a synchronous standby not available?",
    "application": "it belongs to the application and is never terminated: "
    "commit or roll back, or end it with select pg_terminate_backend({pid})",
}
"""How a session ends, by its kind."""
