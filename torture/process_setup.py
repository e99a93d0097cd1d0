"""The setup of a process before it imports a store: mutant, Lua audit, shorter intervals; and the skew of its clock."""

from __future__ import annotations

import time
from typing import Any

from torture import lua_audit, mutant_loader
from torture.settings import IN_PLACE, Settings


def prepare(settings: Settings) -> None:
    """Apply the settings of this process. Must run before the first import of a store or worker."""
    if settings.mutant is not None:
        mutant_loader.apply(settings.mutant, settings.url.partition(":")[0].removesuffix("ql"))
    if settings.url.startswith("redis"):
        lua_audit.install()
    import holdfast.worker.pruner as pruner
    import holdfast.worker.reaper as reaper
    from holdfast.worker.steps import async_waits, sync_waits

    changes: list[tuple[Any, str, float]] = [(reaper, "REAP_EVERY", settings.reap), (pruner, "EVERY", 2.0)]
    changes += [(waits, "WAIT_IN_PLACE", IN_PLACE) for waits in (async_waits, sync_waits)]
    for module, name, value in changes:
        setattr(module, name, value)


def skew(seconds: float) -> None:
    """Add a number of seconds to `time.time` and `time.time_ns`."""
    real_time, real_ns = time.time, time.time_ns
    changed: Any = time
    changed.time = lambda: real_time() + seconds
    changed.time_ns = lambda: real_ns() + int(seconds * 1e9)
