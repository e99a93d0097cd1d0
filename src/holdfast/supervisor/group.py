"""A group of worker processes: their job types, their number and their options."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core import defaults
from holdfast.core.retry import Retry
from holdfast.queue.queue_type import type_name
from holdfast.registry.options import check_duration, check_renewal


class GroupError(ValueError):
    """The job types cannot be assigned to the groups. `group` and `key` name the setting to correct."""

    def __init__(self, group: Group, key: str, *, complaint: str) -> None:
        self.group = group
        self.key = key
        super().__init__(f"group {group.name!r}: {complaint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Worker processes with the same options. Times are seconds.

    A group that names neither `types` nor `queues` runs every job type with a handler that no other group names.
    """

    name: str = "default"
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    """Named queues, by their names: `jobs.add(queue.job_type)` makes one known."""
    default_count: int = defaults.DEFAULT_COUNT
    """The number of processes at the start, and the least number."""
    max_count: int = defaults.MAX_COUNT
    """The largest number of processes, including those that drain."""
    concurrency: int = defaults.CONCURRENCY
    """Jobs at a time in each process."""
    scale_interval: float = defaults.SCALE_INTERVAL
    scale_down_after: float = defaults.SCALE_DOWN_AFTER
    """How long fewer processes must have been enough before one is drained."""
    poll_without_wakeups: float = defaults.SUPERVISED_POLL_WITHOUT_WAKEUPS
    """Time between two claims while wake-ups do not arrive."""
    lease: float = defaults.SUPERVISED_LEASE
    renew_interval: float | None = None
    """None: a third of the lease."""
    timeout: float | None = None
    mismatch_timeout: float = defaults.MISMATCH_TIMEOUT
    grace: float = defaults.GRACE
    memory_limit: int | None = None
    """Bytes of address space for each child process that runs `executor="process"` handlers."""
    retry: Retry = field(default_factory=Retry)

    def __post_init__(self) -> None:
        if not self.name or not self.name.replace("-", "_").isidentifier():
            raise ValueError(f"the name of a group has letters, digits, _ and - only, not {self.name!r}")
        for option in ("max_count", "concurrency"):
            if getattr(self, option) < 1:
                raise ValueError(f"{option} must be at least 1, not {getattr(self, option)}")
        if self.default_count < 0:
            raise ValueError(f"default_count must be at least 0, not {self.default_count}")
        if self.default_count > self.max_count:
            raise ValueError(f"default_count ({self.default_count}) must not exceed max_count ({self.max_count})")
        for option in ("scale_interval", "poll_without_wakeups", "timeout"):
            check_duration(option, getattr(self, option))
        check_renewal(self.lease, self.renew_interval)
        for option in ("scale_down_after", "grace", "mismatch_timeout"):
            check_duration(option, getattr(self, option), zero=True)
        if self.memory_limit is not None and self.memory_limit < 1:
            raise ValueError(f"memory_limit must be at least 1 byte, not {self.memory_limit}")
        for option in ("types", "queues"):
            if getattr(self, option) == ():
                raise ValueError(
                    f"{option} of group {self.name!r} is empty: leave it out to run all that no other group names"
                )

    @property
    def takes_remaining(self) -> bool:
        """Whether it runs the types that no other group names."""
        return self.types is None and self.queues is None

    @property
    def named(self) -> dict[str, str]:
        """The job types that it names, including those of its queues, each with the setting that names it."""
        queues = {type_name(queue): "queues" for queue in self.queues or ()}
        return {**dict.fromkeys(self.types or (), "types"), **queues}
