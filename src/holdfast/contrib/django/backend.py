"""The backend for Django's tasks: a task is a job, enqueued in the open `atomic()` of the database."""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from holdfast.contrib.django.clients import client, in_transaction
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.task_options import HoldfastTask, option
from holdfast.contrib.django.task_results import new_result, stored_result
from holdfast.contrib.django.task_types import bound_call, is_task, key_of
from holdfast.contrib.django.tasks_api import BaseTaskBackend, TaskResultDoesNotExist, normalize_json, task_enqueued


class HoldfastBackend(BaseTaskBackend):
    """`TASKS = {"default": {"BACKEND": "holdfast.contrib.django.HoldfastBackend"}}`."""

    task_class = HoldfastTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Start the job of a task. Inside `atomic()` it exists if, and only if, that transaction commits.

        A task with the key of one that has not ended returns the result of that one, and sends no signal.
        """
        self.validate_task(task)
        args, kwargs = normalize_json(args), normalize_json(kwargs)
        bound = bound_call(task, args, kwargs).options(
            at=_aware(task.run_after), key=key_of(task, args, kwargs), dedup=option(task, "dedup"),
            max_attempts=option(task, "max_attempts"), after=option(task, "after"),
        )  # fmt: skip
        chain = client().start(bound)
        if chain.deduplicated:
            return self.get_result(chain.id)
        result = new_result(task, chain.first_job, args, kwargs, self.alias)
        self._send_enqueued(result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The result as the store has it now. Raises TaskResultDoesNotExist."""
        report = client().report(str(result_id))
        if report is None or not is_task(report.job.type):
            raise TaskResultDoesNotExist(result_id)
        return stored_result(report)

    def check(self, **_: Any) -> list[Any]:
        """The options of the backend, and the setting `HOLDFAST`."""
        found: list[checks.CheckMessage] = []
        if self.options:
            given = ", ".join(sorted(self.options))
            found.append(
                checks.Error(
                    f"TASKS[{self.alias!r}]['OPTIONS'] has {given}: HoldfastBackend has no options",
                    hint="Give options to @task(...), and the store in the setting HOLDFAST.",
                    id="holdfast.E010",
                )
            )
        try:
            configuration()
        except ImproperlyConfigured as error:
            found.append(checks.Error(str(error), id="holdfast.E011"))
        return found

    def _send_enqueued(self, result: Any) -> None:
        """Send the signal after the commit."""
        alias = configuration().database

        def send() -> None:
            task_enqueued.send(sender=type(self), task_result=result)

        if in_transaction(alias):
            transaction.on_commit(send, using=alias, robust=True)
        else:
            send()


def _aware(moment: Any) -> Any:
    return timezone.make_aware(moment) if moment is not None and timezone.is_naive(moment) else moment
