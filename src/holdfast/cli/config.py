"""`config`: the settings in effect."""

from __future__ import annotations

from typing import Any

from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.passwords import masked
from holdfast.cli.printable import printable
from holdfast.config import FileSettings
from holdfast.config.retry_policies import UNLIMITED
from holdfast.config.worker_groups import MEGABYTE
from holdfast.core.retry import Retry, seconds
from holdfast.simulation import WorkKind
from holdfast.supervisor import Group


@command
def config(run: Invocation) -> None:
    """Show the settings in effect, defaults included and passwords masked: as TOML, or as JSON."""
    document = effective(run)
    run.answer(document)
    if not run.json:
        for line in toml(document):
            run.write(line)


def effective(run: Invocation) -> dict[str, Any]:
    """The settings in effect, from all sources."""
    settled, settings = run.settings, run.settings.config.settings
    shown: dict[str, Any] = {
        "store": settled.store and masked(settled.store),
        "wakeups": settled.wakeups and masked(settled.wakeups),
        "app": settled.app,
        "workers": _workers(settings),
        "retry": {name: _retry(retry) for name, retry in settings.retries.items()},
        "work_kinds": {kind.name: _kind(kind, settings) for kind in settings.work_kinds},
        "logging": {"level": settings.logging.level, "format": "json" if settings.logging.json else "text"},
        "health": {} if settings.listen is None else {"listen": "{}:{}".format(*settings.listen)},
    }
    return {key: value for key, value in shown.items() if value}


def toml(document: dict[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """The document as TOML that `--config` can read."""
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if not isinstance(value, dict)]
    if path and lines:
        lines = [f"[{'.'.join(path)}]", *lines]
    for key, value in document.items():
        if isinstance(value, dict):
            inner = toml(value, (*path, key))  # pyright: ignore[reportUnknownArgumentType]
            lines += ["", *inner] if lines and inner else inner
    return lines


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + printable(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list():
            return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _workers(settings: FileSettings) -> dict[str, Any]:
    usual, *others = settings.groups
    return {**_group(usual, settings), **{group.name: _group(group, settings) for group in others}}


def _group(group: Group, settings: FileSettings) -> dict[str, Any]:
    shown = {
        "types": None if group.types is None else list(group.types),
        "queues": None if group.queues is None else list(group.queues),
        "default_count": group.default_count,
        "max_count": group.max_count,
        "concurrency": group.concurrency,
        "poll_interval_ms": group.poll_without_wakeups * 1000,
        "lease_timeout_seconds": group.lease,
        "renew_interval_seconds": group.renew_interval,
        "mismatch_timeout_seconds": group.mismatch_timeout,
        "scale_interval_ms": group.scale_interval * 1000,
        "scale_down_seconds": group.scale_down_after,
        "grace_seconds": group.grace,
        "timeout_seconds": group.timeout,
        "memory_limit_mb": None if group.memory_limit is None else group.memory_limit // MEGABYTE,
        "retry": _name_of(group.retry, settings),
    }
    return {key: value for key, value in shown.items() if value is not None}


def _retry(retry: Retry) -> dict[str, Any]:
    return {
        "max_retries": UNLIMITED if retry.max_attempts is None else retry.max_attempts - 1,
        "initial_seconds": seconds(retry.initial),
        "multiplier": retry.multiplier,
        "maximum_seconds": seconds(retry.maximum),
        "jitter": retry.jitter,
    }


def _kind(kind: WorkKind, settings: FileSettings) -> dict[str, Any]:
    duration = kind.duration
    shown: dict[str, Any] = {
        "outcome": kind.outcome,
        "retryable": kind.retryable,
        "fail_times": kind.fail_times,
        "weight": kind.weight,
        "retry": _name_of(kind.retry, settings),
        "duration": duration.numbers[0] if duration.shape == "fixed" else {duration.shape: list(duration.numbers)},
    }
    return {key: value for key, value in shown.items() if value is not None}


def _name_of(retry: Retry, settings: FileSettings) -> str | None:
    return next((name for name, each in settings.retries.items() if each == retry), None)
