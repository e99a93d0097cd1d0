"""Results of tasks, from the job and its history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.module_loading import import_string

from holdfast.contrib.django.tasks_api import TaskError, TaskResult, TaskResultStatus, set_field
from holdfast.core.failure import ErrorText
from holdfast.core.job import AttemptReport, Job, Report
from holdfast.core.record import Status

CANCELLED = "holdfast.errors.ChainCancelled"
_STATUSES = {
    Status.BLOCKED: TaskResultStatus.READY,
    Status.PENDING: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.COMPLETED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
}


def new_result(task: Any, job: Job, args: Sequence[Any], kwargs: dict[str, Any], backend: str) -> Any:
    """The result of a task that was just enqueued."""
    return _result(task, job, args, kwargs, backend=backend, attempts=())


def stored_result(report: Report) -> Any:
    """The result of a task as the store has it."""
    job = report.job
    given: dict[str, Any] = job.input
    return _result(
        task_of(given, job.priority), job, given["args"], given["kwargs"], backend=given["backend"],
        attempts=report.attempts,
    )  # fmt: skip


def task_of(given: dict[str, Any], priority: int) -> Any:
    """The task that was enqueued, with the options of that call."""
    task = import_string(given["task"])
    run_after = None if given["run_after"] is None else datetime.fromisoformat(given["run_after"])
    return task.using(
        priority=priority, queue_name=given["queue"], backend=given["backend"], run_after=run_after
    )  # fmt: skip


def error_of(error: BaseException, trace: str) -> Any:
    """The error of an attempt in this process."""
    kind = type(error)
    return TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=trace)


def _result(
    task: Any, job: Job, args: Sequence[Any], kwargs: dict[str, Any], *, backend: str, attempts: Sequence[AttemptReport]
) -> Any:
    begun = _counted(job, attempts)
    made: Any = TaskResult(
        task=task,
        id=job.chain_id,
        status=_STATUSES[job.status],
        enqueued_at=job.created_at,
        started_at=begun[0].started_at if begun else job.started_at,
        last_attempted_at=begun[-1].started_at if begun else job.started_at,
        finished_at=job.finished_at,
        args=list(args),
        kwargs=kwargs,
        backend=backend,
        errors=_errors(job, attempts),
        worker_ids=[each.worker for each in begun if each.worker is not None],
    )
    if job.status is Status.COMPLETED:
        set_field(made, _return_value=job.output)
    return made


def _counted(job: Job, attempts: Sequence[AttemptReport]) -> list[AttemptReport]:
    """The attempts that count. One that was released does not: the next one has its number."""
    begun = {each.number: each for each in attempts if each.started_at is not None and each.number <= job.attempt}
    return list(begun.values())


def _errors(job: Job, attempts: Sequence[AttemptReport]) -> list[Any]:
    errors = [_stored_error(each.error) for each in attempts if each.error is not None]
    if job.status is Status.CANCELLED:
        text = str(job.error) if job.error is not None else "the chain was cancelled"
        errors.append(TaskError(exception_class_path=CANCELLED, traceback=f"{CANCELLED}: {text}\n"))
    elif job.status is Status.FAILED and not errors and job.error is not None:
        errors.append(_stored_error(job.error))
    return errors


def _stored_error(error: ErrorText) -> Any:
    return TaskError(exception_class_path=_path_of(error), traceback=error.traceback or f"{error}\n")


def _path_of(error: ErrorText) -> str:
    """The path of the class of an error. The store keeps its name; the traceback names the module."""
    named = re.findall(rf"^((?:\w+\.)+{re.escape(error.type)})(?::|$)", error.traceback, re.MULTILINE)
    return named[-1] if named else f"builtins.{error.type}"
