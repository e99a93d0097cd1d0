"""`[work_kinds.NAME]`: the catalogue of synthetic work."""

from __future__ import annotations

from typing import Any, cast, get_args

from holdfast.config.retries import policy
from holdfast.config.table import Table
from holdfast.retry import Retry
from holdfast.simulation import Duration, WorkKind
from holdfast.simulation.duration import PARAMETERS
from holdfast.simulation.kinds import QUICK, Ending


def read_kinds(table: Table, retries: dict[str, Retry]) -> tuple[WorkKind, ...]:
    """The work kinds of a file."""
    found = tuple(_read_kind(name, each, retries) for name, each in table.tables().items())
    table.finish()
    return found


def _read_kind(name: str, table: Table, retries: dict[str, Retry]) -> WorkKind:
    duration = _read_duration(table)
    outcome = cast("Ending", table.choice("outcome", get_args(Ending), "success"))
    retryable = table.flag("retryable", True)
    fail_times = table.count("fail_times", 0)
    weight = table.count("weight", 1)
    retry = policy(table, retries, QUICK)
    table.finish()
    try:
        return WorkKind(
            name=name, duration=duration, outcome=outcome, retryable=retryable, fail_times=fail_times, weight=weight,
            retry=retry,
        )  # fmt: skip
    except ValueError as error:
        raise table.error("outcome" if "outcome" in table else "retry", str(error)) from None


def _read_duration(table: Table) -> Duration:
    """Seconds, or `{ uniform = [least, most] }`, `{ normal = [mean, deviation] }`, `{ exponential = mean }`."""
    value = table.anything("duration")
    if value is None:
        return Duration()
    try:
        if isinstance(value, dict):
            (shape, numbers), *more = cast("dict[str, Any]", value).items()
            if not more and shape in PARAMETERS:
                return Duration(shape, tuple(map(_number, _listed(numbers))))
        else:
            return Duration("fixed", (_number(value),))
    except ValueError as error:
        raise table.error("duration", str(error)) from None
    raise table.error("duration", f"is seconds, or one of {', '.join(PARAMETERS)}: {{ uniform = [0.1, 0.5] }}")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownArgumentType]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a duration is made of numbers of seconds, not {value!r}")
    return float(value)
