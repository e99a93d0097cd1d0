"""The job types of Django's tasks. A task that workers import has a type of its own, named by its path.

A task in another module runs under a common type: its worker imports it by its path.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from dataclasses import replace as changed
from typing import Any

from django.utils.module_loading import import_string

from holdfast.contrib.django.task_options import option, type_options
from holdfast.contrib.django.tasks_api import InvalidTask
from holdfast.core.retry import Retry
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.registry.limits import AnyLimit
from holdfast.worker.attempt import Attempt
from holdfast.worker.sync_attempt import SyncAttempt

ONCE = Retry(max_attempts=1)
COMMON, COMMON_ASYNC = "django.task", "django.task.async"

tasks = Jobs("django.tasks")
"""The job types of tasks. The registry of the project includes it."""

_closed = False
"""Whether the modules of the apps were imported. Workers do not know tasks that are declared later."""


def _run(
    attempt: SyncAttempt,
    task: str,
    args: list[Any],
    kwargs: dict[str, Any],
    backend: str,
    queue: str,
    run_after: str | None,
) -> Any:
    from holdfast.contrib.django.task_calls import call

    return call(attempt, task, args, kwargs, backend)


async def _run_async(
    attempt: Attempt,
    task: str,
    args: list[Any],
    kwargs: dict[str, Any],
    backend: str,
    queue: str,
    run_after: str | None,
) -> Any:
    from holdfast.contrib.django.task_calls import call_async

    return await call_async(attempt, task, args, kwargs, backend)


run_common = tasks.job(name=COMMON, retry=ONCE)(_run)
"""Runs plain tasks that have no job type of their own."""
run_common_async = tasks.job(name=COMMON_ASYNC, retry=ONCE)(_run_async)
"""Runs async tasks that have no job type of their own."""


def declare(task: Any) -> None:
    """Declare the job type of a task while the modules of the apps are imported. A second call changes nothing."""
    if _closed or tasks.get(task.module_path) is not None:
        return
    options = type_options(task)
    schedule = {name: options.pop(name) for name in ("cron", "every", "tz") if name in options}
    options["limits"] = tuple(_of_task(limit) for limit in options.get("limits", ()))
    options.setdefault("retry", ONCE)
    function = _run_async if inspect.iscoroutinefunction(task.func) else _run
    declaring: Any = tasks.job
    declared: AnyJobType = declaring(name=task.module_path, **options)(function)
    if schedule:
        tasks.schedule(task.module_path, _bound(declared, task, (), {}), **schedule)


def close() -> None:
    """From now on, tasks have no job type of their own."""
    global _closed
    _closed = True


def bound_call(task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The bound call of a task. InvalidTask if its options need a worker that imports its module."""
    known = tasks.get(task.module_path)
    if known is None:
        if options := sorted(type_options(task)):
            raise InvalidTask(
                f"{task.module_path} has the options {', '.join(options)}, and workers do not import its module: "
                "declare it in the module tasks of an app, or import it there"
            )
        known = run_common_async if inspect.iscoroutinefunction(task.func) else run_common
    return _bound(known, task, args, kwargs)


def is_task(type: str) -> bool:
    """Whether this is the job type of a task."""
    return type in tasks


def _bound(job_type: AnyJobType, task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    run_after = None if task.run_after is None else task.run_after.isoformat()
    bound = job_type.bind(
        task=task.module_path, args=list(args), kwargs=kwargs, backend=task.backend, queue=task.queue_name,
        run_after=run_after,
    )  # fmt: skip
    if not task.priority:
        return bound
    return bound.options(priority=task.priority)


@dataclass(frozen=True, slots=True)
class ByParameters:
    """`by` or `weight` of a limit, in terms of the parameters of a task's function. Equal for equal names."""

    names: Any
    single: bool

    def __call__(self, *, task: str, args: list[Any], kwargs: dict[str, Any], **_: Any) -> Any:
        arguments = _arguments(task, args, kwargs)
        if callable(self.names):
            return self.names(**arguments)
        values = [arguments[name] for name in self.names]
        return values[0] if self.single else values


def _of_task(limit: AnyLimit) -> AnyLimit:
    """The limit with `by` and `weight` in terms of the task's function, not of its job type."""
    assert is_dataclass(limit)
    given: dict[str, Any] = {
        name: value for name in ("by", "weight") if (value := getattr(limit, name, None)) is not None
    }
    converted: dict[str, Any] = {name: _by(value) for name, value in given.items()}
    return changed(limit, **converted) if converted else limit


def _by(value: Any) -> ByParameters:
    if callable(value):
        return ByParameters(value, single=False)
    return ByParameters((value,), single=True) if isinstance(value, str) else ByParameters(tuple(value), single=False)


def _arguments(path: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    task = import_string(path)
    context = (None,) if task.takes_context else ()
    given = inspect.signature(task.func).bind(*context, *args, **kwargs)
    given.apply_defaults()
    if context:
        given.arguments.pop("context")
    return dict(given.arguments)


def key_of(task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
    """The key of a call."""
    key: Any = option(task, "key")
    if key is None or isinstance(key, str):
        return key
    made: str = key(*args, **kwargs)
    return made
