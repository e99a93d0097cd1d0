"""The settings of `holdfast.toml`, with defaults for those that it does not set."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from holdfast.config.checked_table import Source
from holdfast.config.worker_groups import check_groups
from holdfast.core.retry import Retry
from holdfast.registry.jobs import Jobs
from holdfast.simulation import Duration, WorkKind
from holdfast.supervisor import Group, Logging

FILE = "holdfast.toml"

CATALOGUE = (
    WorkKind(name="quick", duration=Duration("uniform", (0.005, 0.02)), weight=6),
    WorkKind(name="slow", duration=Duration("normal", (0.2, 0.05)), weight=2),
    WorkKind(name="flaky", duration=Duration("exponential", (0.02,)), fail_times=2, weight=2),
    WorkKind(name="hopeless", duration=Duration("fixed", (0.01,)), outcome="fail"),
    WorkKind(name="broken", duration=Duration("fixed", (0.01,)), outcome="fail", retryable=False),
    WorkKind(name="unwanted", duration=Duration("fixed", (0.01,)), outcome="cancel"),
)
"""The work kinds of `holdfast simulate` if the file has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """All settings of a file. Without a file, `source` is None and every setting has its default."""

    source: Source | None = field(default=None, repr=False, compare=False)
    store: str | None = None
    wakeups: str | None = None
    """The wake-ups of the store, also if the address of the store comes from elsewhere."""
    app: str | None = None
    groups: tuple[Group, ...] = (Group(),)
    retries: dict[str, Retry] = field(default_factory=lambda: {"default": Retry()})
    work_kinds: tuple[WorkKind, ...] = ()
    logging: Logging = field(default_factory=Logging)
    listen: tuple[str, int] | None = None

    @property
    def path(self) -> Path | None:
        return None if self.source is None else self.source.path

    def check(self, jobs: Jobs) -> None:
        """Raise ConfigError, with file, line and key, if a group names a type that is not among these."""
        if self.source is not None:
            check_groups(self.groups, jobs, source=self.source)
