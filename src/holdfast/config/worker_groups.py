"""`[workers]` and `[workers.GROUP]`: groups of worker processes. A group inherits the settings of `[workers]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.config.checked_table import Source, Table
from holdfast.config.retry_policies import policy
from holdfast.core.retry import Retry
from holdfast.queue.queue_type import type_name
from holdfast.registry.jobs import Jobs
from holdfast.supervisor import Group, GroupError
from holdfast.supervisor.child_protocol import assign_types

MEGABYTE = 1 << 20


def read_groups(table: Table, retries: dict[str, Retry]) -> tuple[Group, ...]:
    """The groups of a file: "default", which takes the types that no other group names, and one per inner table."""
    usual = _read_group(table, Group(retry=retries["default"]), retries=retries)
    groups = [usual]
    for name, each in table.tables().items():
        if name == usual.name:
            raise each.error("types", "the default group is [workers] itself")
        try:
            named = replace(usual, name=name, types=None, queues=None)
        except ValueError as error:
            raise table.error(name, str(error)) from None
        group = _read_group(each, named, retries=retries)
        if group.takes_remaining:
            raise each.error("types", "give types or queues: [workers] runs all that no group names")
        each.finish()
        groups.append(group)
    table.finish()
    return tuple(groups)


def check_groups(groups: Sequence[Group], jobs: Jobs, *, source: Source) -> None:
    """Raise ConfigError, with the line, for a type or queue that does not exist or that two groups name."""
    try:
        assign_types(groups, jobs)
    except GroupError as error:
        path = ("workers",) if error.group is groups[0] else ("workers", error.group.name)
        raise source.error((*path, error.key), str(error)) from None


def _read_group(table: Table, usual: Group, *, retries: dict[str, Retry]) -> Group:
    least = table.count("default_count", usual.default_count)
    most = table.count("max_count", usual.max_count, least=1)
    if least > most:
        said = "default_count" if "default_count" in table else "max_count"
        raise table.error(said, f"default_count ({least}) must not exceed max_count ({most})")
    lease = table.number("lease_timeout_seconds", usual.lease, zero=False)
    limit = table.count("memory_limit_mb", (usual.memory_limit or 0) // MEGABYTE, least=32)
    return replace(
        usual,
        types=table.texts("types") or usual.types,
        queues=_read_queues(table) or usual.queues,
        default_count=least,
        max_count=most,
        concurrency=table.count("concurrency", usual.concurrency, least=1),
        poll_without_wakeups=table.number("poll_interval_ms", usual.poll_without_wakeups * 1000, least=1) / 1000,
        scale_interval=table.number("scale_interval_ms", usual.scale_interval * 1000, least=10) / 1000,
        scale_down_after=table.number("scale_down_seconds", usual.scale_down_after),
        lease=lease,
        renew_interval=_read_renew_interval(table, usual, lease=lease),
        mismatch_timeout=table.number("mismatch_timeout_seconds", usual.mismatch_timeout),
        grace=table.number("grace_seconds", usual.grace),
        timeout=table.number("timeout_seconds", usual.timeout or 0.0, zero=False) or None,
        memory_limit=limit * MEGABYTE or None,
        retry=policy(table, retries, default=usual.retry),
    )


def _read_renew_interval(table: Table, usual: Group, *, lease: float) -> float | None:
    """None, a third of the lease, if it is not set. A value in [workers] belongs to the lease in [workers]."""
    inherited = usual.renew_interval if "lease_timeout_seconds" not in table else None
    interval = table.number("renew_interval_seconds", inherited or 0.0, zero=False) or None
    if interval is not None and interval >= lease:
        raise table.error(
            "renew_interval_seconds", f"must be less than lease_timeout_seconds ({lease:g}), not {interval:g}"
        )
    return interval


def _read_queues(table: Table) -> tuple[str, ...] | None:
    queues = table.texts("queues")
    for queue in queues or ():
        try:
            type_name(queue)
        except ValueError as error:
            raise table.error("queues", str(error)) from None
    return queues
