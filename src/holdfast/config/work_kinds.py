"""`[work_kinds.NAME]`: the catalogue of synthetic work."""

from __future__ import annotations

from typing import Any, cast, get_args

from holdfast.config.checked_table import Table
from holdfast.config.retry_policies import policy
from holdfast.core.retry import Retry
from holdfast.simulation import Duration, WorkKind
from holdfast.simulation.duration import PARAMETERS
from holdfast.simulation.work_kinds import QUICK, Ending


def read_kinds(table: Table, retries: dict[str, Retry]) -> tuple[WorkKind, ...]:
    """The work kinds of a file."""
    found = tuple(_read_kind(name, each, retries=retries) for name, each in table.tables().items())
    table.finish()
    return found


def _read_kind(name: str, table: Table, *, retries: dict[str, Retry]) -> WorkKind:
    duration = _read_duration(table)
    outcome = cast("Ending", table.choice("outcome", get_args(Ending), default="success"))
    retryable = table.flag("retryable", True)
    fail_times = table.count("fail_times", 0)
    weight = table.count("weight", 1)
    retry = policy(table, retries, default=QUICK)
    table.finish()
    try:
        return WorkKind(
            name=name, duration=duration, outcome=outcome, retryable=retryable, fail_times=fail_times, weight=weight,
            retry=retry,
        )  # fmt: skip
    except ValueError as error:
        raise table.source.error(table.path, str(error)) from None


def _read_duration(table: Table) -> Duration:
    """Seconds, or `{ uniform = [least, most] }`, `{ normal = [mean, deviation] }`, `{ exponential = mean }`."""
    value = table.anything("duration")
    if value is None:
        return Duration()
    shaped = cast("dict[str, Any]", value) if isinstance(value, dict) else {"fixed": value}
    shape = next(iter(shaped), None)
    if len(shaped) != 1 or shape not in PARAMETERS:
        raise table.error("duration", f"is seconds, or one of {', '.join(PARAMETERS)}: {{ uniform = [0.1, 0.5] }}")
    try:
        return Duration(shape, tuple(map(_number, _listed(shaped[shape]))))
    except ValueError as error:
        raise table.error("duration", str(error)) from None


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownArgumentType]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a duration is made of numbers of seconds, not {value!r}")
    return float(value)
