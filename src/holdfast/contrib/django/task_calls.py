"""Runs a task inside the handler of its job type."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.utils.module_loading import import_string

from holdfast.client.client_calls import ClientCalls
from holdfast.contrib.django.task_results import stored_result
from holdfast.contrib.django.tasks_api import TaskContext, normalize_json, task_started
from holdfast.core.job import AttemptReport, Job, Report
from holdfast.engine import procedures


def call(attempt: Any, path: str, args: list[Any], kwargs: dict[str, Any], backend: str) -> Any:
    """Call a plain task."""
    task, report = import_string(path), _first_report(attempt.job)
    if report is None:
        report = procedures.run_sync(attempt._store.perform_sync, ClientCalls(attempt._jobs).report(attempt.job.id))
    assert report is not None  # the attempt holds its job
    result = stored_result(report)
    task_started.send(sender=type(result.task.get_backend()), task_result=result)
    return normalize_json(task.func(*_context(task, result), *args, **kwargs))


async def call_async(attempt: Any, path: str, args: list[Any], kwargs: dict[str, Any], backend: str) -> Any:
    """Call an async task. The receivers of the signal are plain functions, so they run in a thread."""
    task, report = import_string(path), _first_report(attempt.job)
    if report is None:
        calls = ClientCalls(attempt._jobs)
        report = await procedures.run(attempt._store.perform, calls.report(attempt.job.id))
    assert report is not None  # the attempt holds its job
    result = stored_result(report)
    await sync_to_async(task_started.send)(sender=type(result.task.get_backend()), task_result=result)
    return normalize_json(await task.func(*_context(task, result), *args, **kwargs))


def _first_report(job: Job) -> Report | None:
    """The history of a job in its first attempt. None in a later one: the store has it."""
    if job.attempt > 1:
        return None
    running = AttemptReport(1, job.worker, job.started_at, None, "running", None)
    return Report(job, [running])


def _context(task: Any, result: Any) -> tuple[Any, ...]:
    return (TaskContext(task_result=result),) if task.takes_context else ()
