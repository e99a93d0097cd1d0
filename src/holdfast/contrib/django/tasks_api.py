"""The API of tasks: `django.tasks` of Django 6, or the package django-tasks on Django 5.2."""

# pyright: reportMissingModuleSource=false
# The stubs describe Django 6; Django 5.2 has no django.tasks.

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import TaskError
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    _BUILT_IN = find_spec("django.tasks") is not None
    if not _BUILT_IN and find_spec("django_tasks") is None:
        raise ImportError("tasks need Django 6, or on Django 5.2 the package django-tasks: pip install django-tasks")
    _package = "django.tasks" if _BUILT_IN else "django_tasks"
    _base = import_module(f"{_package}.base")
    _exceptions = import_module(f"{_package}.exceptions")
    _signals = import_module(f"{_package}.signals")
    task_backends = import_module(_package).task_backends
    Task, TaskContext, TaskError = _base.Task, _base.TaskContext, _base.TaskError
    TaskResult, TaskResultStatus = _base.TaskResult, _base.TaskResultStatus
    BaseTaskBackend = import_module(f"{_package}.backends.base").BaseTaskBackend
    InvalidTask = getattr(_exceptions, "InvalidTask", None) or _exceptions.InvalidTaskError
    TaskResultDoesNotExist = _exceptions.TaskResultDoesNotExist
    task_enqueued, task_started, task_finished = (
        _signals.task_enqueued, _signals.task_started, _signals.task_finished,
    )  # fmt: skip
    normalize_json = import_module("django.utils.json" if _BUILT_IN else "django_tasks.utils").normalize_json

__all__ = [
    "BaseTaskBackend",
    "InvalidTask",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "normalize_json",
    "set_field",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]


def set_field(result: TaskResult[Any, Any], **values: Any) -> None:
    """Change fields of a result, as the backends of Django do: the class is frozen."""
    for name, value in values.items():
        object.__setattr__(result, name, value)
