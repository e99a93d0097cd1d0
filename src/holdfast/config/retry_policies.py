"""`[retry.NAME]`: retry policies by name. `[retry]`, or `[retry.default]`, is the default."""

from __future__ import annotations

from holdfast.config.checked_table import MOST, Table
from holdfast.core.retry import Retry, seconds

KEYS = ("max_retries", "max_attempts", "initial_seconds", "multiplier", "maximum_seconds", "jitter")
UNLIMITED = "unlimited"


def read_retries(table: Table) -> dict[str, Retry]:
    """The policies of a file. "default" always exists."""
    found = {"default": Retry()}
    if any(key in table for key in KEYS):
        if "default" in table:
            raise table.error("default", "the default policy is given twice: by [retry] and by [retry.default]")
        found["default"] = _read_retry(table)
    for name, each in table.tables().items():
        found[name] = _read_retry(each)
        each.finish()
    table.finish()
    return found


def policy(table: Table, retries: dict[str, Retry], *, default: Retry) -> Retry:
    """The policy that a table names by its key `retry`."""
    name = table.text("retry")
    if name is None:
        return default
    if name not in retries:
        raise table.error("retry", f"there is no [retry.{name}]; there are: {', '.join(sorted(retries))}")
    return retries[name]


def _read_retry(table: Table) -> Retry:
    usual = Retry()
    if "max_retries" in table and "max_attempts" in table:
        raise table.error("max_retries", "give max_retries or max_attempts, not both: the first attempt is not a retry")
    limit = usual.max_attempts
    retries, attempts = _limit(table, "max_retries", least=0), _limit(table, "max_attempts", least=1)
    if "max_retries" in table:
        limit = None if retries is None else retries + 1
    elif "max_attempts" in table:
        limit = attempts
    return Retry(
        initial=table.number("initial_seconds", seconds(usual.initial)),
        multiplier=table.number("multiplier", usual.multiplier, least=1),
        maximum=table.number("maximum_seconds", seconds(usual.maximum)),
        jitter=table.number("jitter", usual.jitter, most=1),
        max_attempts=limit,
    )


def _limit(table: Table, key: str, *, least: int) -> int | None:
    if table.anything(key) == UNLIMITED:
        return None
    return table.count(key, least, least=least, most=MOST - 1)
