"""A task with the options of a job type: retries, keys, limits and schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, cast

from holdfast.contrib.django.tasks_api import Task, task_backends
from holdfast.core.retry import Retry, Seconds
from holdfast.registry.limits import AnyLimit
from holdfast.registry.options import Dedup

ON_TYPE = ("retry", "lease", "timeout", "keep", "limits", "cron", "every", "tz")
"""Options of the job type. A worker must know them, so it must import the module of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldfastTask(Task):  # type: ignore[type-arg]
    """A task of HoldfastBackend: `@task(retry=Retry(max_attempts=5), limits=[...])`."""

    retry: Retry | None = field(default=None, compare=False)
    """Without it, a task is attempted once: Django's tasks are not retried unless an option says so."""
    lease: Seconds | None = field(default=None, compare=False)
    timeout: Seconds | None = field(default=None, compare=False)
    keep: Seconds | None = field(default=None, compare=False)
    limits: Sequence[AnyLimit] = field(default=(), compare=False)
    """Limits, rates and orders. `by` names parameters of the task's function."""
    cron: str | None = field(default=None, compare=False)
    every: Seconds | None = field(default=None, compare=False)
    tz: str | None = field(default=None, compare=False)
    key: str | Callable[..., str] | None = field(default=None, compare=False)
    """A text, or a function of the task's arguments. While a task with this key has not ended, `enqueue` returns it."""
    dedup: Dedup | None = field(default=None, compare=False)
    max_attempts: int | None = field(default=None, compare=False)
    after: Sequence[str] = field(default=(), compare=False)
    """Ids of results or chains that must end successfully first."""

    def __post_init__(self) -> None:
        cast("Any", Task).__post_init__(self)
        from holdfast.contrib.django.task_types import declare

        declare(self)

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        key: str | None = None,
        dedup: Dedup | None = None,
        max_attempts: int | None = None,
        after: Sequence[str] | None = None,
    ) -> HoldfastTask:
        """A copy with these options for its next `enqueue`."""
        given = {
            "priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend, "key": key,
            "dedup": dedup, "max_attempts": max_attempts, "after": after,
        }  # fmt: skip
        return replace(self, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: bool = False,
    **options: Any,
) -> Any:
    """Declare a task of HoldfastBackend with its options: `@task(retry=Retry(max_attempts=5))`.

    Django's own decorator is enough without options. It takes them from Django 6.1 on, and that of django-tasks too.
    """

    def declare(function: Callable[..., Any]) -> Any:
        kind: Any = task_backends[backend].task_class
        return kind(
            func=function, run_after=None, priority=priority, queue_name=queue_name, backend=backend,
            takes_context=takes_context, **options,
        )  # fmt: skip

    return declare if function is None else declare(function)


def option(task: Any, name: str) -> Any:
    """An option of a task; the default if its backend was another one when it was declared."""
    return getattr(task, name, _DEFAULTS[name])


_DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(HoldfastTask)}


def type_options(task: Any) -> dict[str, Any]:
    """The options of a task that belong to its job type and differ from the default."""
    return {name: value for name in ON_TYPE if (value := option(task, name)) not in (None, ())}
