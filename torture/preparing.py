"""What is done before a store is imported: a mutant, an audit of Lua, shorter intervals. And a clock that is wrong."""

from __future__ import annotations

import time
from typing import Any

from torture import lua_audit, mutants
from torture.settings import Settings


def prepare(settings: Settings) -> None:
    """Make this process what its settings say. Comes before the first import of a store or worker."""
    if settings.mutant is not None:
        mutants.apply(settings.mutant, settings.url.partition(":")[0].removesuffix("ql"))
    if settings.url.startswith("redis"):
        lua_audit.install()
    import holdfast.worker.pruner as pruner
    import holdfast.worker.reaper as reaper

    changes: list[tuple[Any, str, float]] = [(reaper, "REAP_EVERY", settings.reap), (pruner, "EVERY", 2.0)]
    for module, name, value in changes:
        setattr(module, name, value)


def skew(seconds: float) -> None:
    """Have every look at the clock be wrong by so much, whoever looks."""
    real_time, real_ns = time.time, time.time_ns
    changed: Any = time
    changed.time = lambda: real_time() + seconds
    changed.time_ns = lambda: real_ns() + int(seconds * 1e9)
