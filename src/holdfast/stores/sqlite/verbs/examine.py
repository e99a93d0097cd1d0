"""Examine: what `holdfast doctor` reports about a SQLite store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.engine.operations import Examine, Finding
from holdfast.stores import held_orders, late_jobs
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.wal.version import wal_is_safe

_EXPIRED = SQL["examine_expired"]
_OLDEST = SQL["examine_oldest"]
_HELD = SQL["held_orders"]

WAL_LIMIT = 64 * 1024 * 1024
"""Bytes. A larger write-ahead log was not checkpointed for a long time."""

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def examine(context: PlanContext, operation: Examine) -> Plan[list[Finding]]:
    findings: list[Finding] = []
    [(version,)] = yield Statement("select sqlite_version()")
    findings.append(_version(version))
    [(journal,)] = yield Statement("pragma journal_mode")
    findings.append(Finding("ok" if journal == "wal" else "error", "journal mode", journal))
    [(synchronous,)] = yield Statement("pragma synchronous")
    findings.append(_synchronous(synchronous))
    findings += _wal((yield Statement("pragma database_list")))
    [(verdict,)] = yield Statement("pragma quick_check(1)")
    findings.append(Finding("ok" if verdict == "ok" else "error", "integrity", verdict))
    [(expired, since)] = yield Statement(_EXPIRED, {"now": context.now})
    findings.append(late_jobs.expired(expired, None if since is None else context.now - since))
    [(type, since)] = yield Statement(_OLDEST, {"now": context.now})
    findings.append(late_jobs.oldest(type, None if since is None else context.now - since))
    findings += held_orders.findings((yield Statement(_HELD, {"limit": held_orders.SHOWN})))
    return findings


def _version(version: str) -> Finding:
    parts = [int(part) for part in version.split(".")[:3]]
    if wal_is_safe((parts[0], parts[1], parts[2])):
        return Finding("ok", "sqlite", version)
    detail = (
        f"{version} has the WAL-reset bug; Holdfast's own connections avoid it, but another program that writes "
        "to the file and checkpoints it can lose commits. Fixed in 3.51.3, 3.50.7 and 3.44.6"
    )
    return Finding("warning", "sqlite", detail)


def _synchronous(level: int) -> Finding:
    name = _SYNCHRONOUS.get(level, str(level))
    if level >= 2:
        return Finding("ok", "durability", f"synchronous={name}: what is committed survives a power failure")
    detail = f"synchronous={name}: a power failure may undo the last commits; a crash of a process does not"
    return Finding("warning", "durability", detail)


def _wal(databases: Iterable[tuple[int, str, str]]) -> list[Finding]:
    files = [Path(f"{file}-wal") for _, name, file in databases if name == "main"]
    sizes = [file.stat().st_size for file in files if file.exists()]
    size = sum(sizes)
    detail = f"{size / 1024 / 1024:.1f} MiB"
    if size <= WAL_LIMIT:
        return [Finding("ok", "write-ahead log", detail)]
    reason = "a reader holds an old snapshot open, or no connection checkpoints"
    return [Finding("warning", "write-ahead log", f"{detail}: {reason}")]
