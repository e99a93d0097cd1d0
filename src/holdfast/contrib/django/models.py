"""Models for reading jobs, chains, attempts and schedules. Holdfast manages their tables; the models refuse to write.

Change jobs with `holdfast.contrib.django.client()`: it keeps the rows consistent and wakes workers.
"""

# pyright: reportIncompatibleVariableOverride=false
# `class Meta` of a model does not override that of its base class.

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, ClassVar

from django.db import models

from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.tables import MomentField, table
from holdfast.core.failure import ErrorText, read_error

STATUSES = [(name, name) for name in ("blocked", "pending", "running", "completed", "failed", "cancelled")]


class ReadOnly(models.Model):
    """A model whose rows only Holdfast writes."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        raise TypeError(_refusal(type(self)))

    def delete(self, *args: Any, **options: Any) -> Any:
        raise TypeError(_refusal(type(self)))


class ReadOnlyRows(models.QuerySet[Any]):
    """A query that refuses to write."""

    def update(self, **values: Any) -> int:
        raise TypeError(_refusal(self.model))

    def delete(self) -> Any:
        raise TypeError(_refusal(self.model))

    def create(self, **values: Any) -> Any:
        raise TypeError(_refusal(self.model))

    def bulk_create(self, *args: Any, **options: Any) -> Any:
        raise TypeError(_refusal(self.model))

    def bulk_update(self, *args: Any, **options: Any) -> Any:
        raise TypeError(_refusal(self.model))


class Rows(models.Manager[Any]):
    """Reads the database of the setting HOLDFAST, unless `using` names another one."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return ReadOnlyRows(self.model, using=self._db or configuration().database)


class Job(ReadOnly):
    """A job. The payloads and the error are in `input_json`, `output_json` and `failure`."""

    seq: models.Field[int, int] = models.BigIntegerField(editable=False)
    id: models.Field[str, str] = models.TextField(primary_key=True)
    type: models.Field[str, str] = models.TextField()
    chain_id: models.Field[str, str] = models.TextField("chain")
    chain_index: models.Field[int, int] = models.IntegerField("position in the chain")
    status: models.Field[str, str] = models.TextField(choices=STATUSES)
    priority: models.Field[int, int] = models.BigIntegerField()
    attempt: models.Field[int, int] = models.BigIntegerField()
    max_attempts: models.Field[int | None, int | None] = models.BigIntegerField(null=True)
    key: models.Field[str | None, str | None] = models.TextField(null=True)
    worker: models.Field[str | None, str | None] = models.TextField(null=True)
    leased_until: models.Field[datetime | None, datetime | None] = MomentField(null=True)
    progress: models.Field[float | None, float | None] = models.FloatField(null=True)
    progress_note: models.Field[str | None, str | None] = models.TextField(null=True)
    created_at: models.Field[datetime, datetime] = MomentField("created")
    scheduled_at: models.Field[datetime, datetime | None] = MomentField("due")
    started_at: models.Field[datetime | None, datetime | None] = MomentField("started", null=True)
    finished_at: models.Field[datetime | None, datetime | None] = MomentField("finished", null=True)
    open_blockers: models.Field[int, int] = models.IntegerField()
    input: models.Field[bytes, bytes] = models.BinaryField()
    output: models.Field[bytes | None, bytes | None] = models.BinaryField(null=True)
    error: models.Field[bytes | None, bytes | None] = models.BinaryField(null=True)

    objects = Rows()

    class Meta:
        managed = False
        db_table = table("job")
        ordering = ("-seq",)
        default_permissions = ("view",)
        permissions: ClassVar = [
            ("operate_job", "Can retry, cancel and run jobs now"),
            ("delete_job", "Can delete jobs"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    @property
    def input_json(self) -> Any:
        """The arguments, as plain JSON values."""
        return json.loads(bytes(self.input))

    @property
    def output_json(self) -> Any:
        """The output, as plain JSON values; None without one."""
        return None if self.output is None else json.loads(bytes(self.output))

    @property
    def failure(self) -> ErrorText | None:
        """Why the last attempt did not complete the job."""
        return None if self.error is None else read_error(bytes(self.error))


class ChainRows(Rows):
    """The first jobs of chains, with the status of the last job."""

    def get_queryset(self) -> models.QuerySet[Any]:
        last = Job.objects.filter(chain_id=models.OuterRef("id")).order_by("-chain_index")
        rows = super().get_queryset().filter(chain_index=0)
        return rows.annotate(chain_status=models.Subquery(last.values("status")[:1]))


class Chain(Job):
    """A chain: its first job. `chain_status` is the status of its last job."""

    chain_status: str

    objects = ChainRows()

    class Meta:
        proxy = True
        ordering = ("-seq",)
        default_permissions = ("view",)

    @property
    def jobs(self) -> models.QuerySet[Job]:
        """The jobs of the chain, in order."""
        return Job.objects.filter(chain_id=self.id).order_by("chain_index")


class Attempt(ReadOnly):
    """An attempt that did not complete its job, or the log of one (`outcome` is `log`)."""

    seq: models.Field[int, int] = models.BigIntegerField(primary_key=True)
    job_id: models.Field[str, str] = models.TextField("job")
    number: models.Field[int, int] = models.BigIntegerField()
    worker: models.Field[str | None, str | None] = models.TextField(null=True)
    started_at: models.Field[datetime | None, datetime | None] = MomentField("started", null=True)
    ended_at: models.Field[datetime, datetime] = MomentField("ended")
    outcome: models.Field[str, str] = models.TextField()
    error: models.Field[bytes | None, bytes | None] = models.BinaryField(null=True)
    next_at: models.Field[datetime | None, datetime | None] = MomentField("next", null=True)

    objects = Rows()

    class Meta:
        managed = False
        db_table = table("attempt")
        ordering = ("seq",)
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.job_id}"


class Schedule(ReadOnly):
    """A schedule. `holdfast.contrib.django.client().schedules()` returns its rule and its counts."""

    name: models.Field[str, str] = models.TextField(primary_key=True)
    type: models.Field[str, str] = models.TextField()
    ticks_at: models.Field[datetime | None, datetime | None] = MomentField("next tick", null=True)
    body: models.Field[bytes, bytes] = models.BinaryField()

    objects = Rows()

    class Meta:
        managed = False
        db_table = table("schedule")
        ordering = ("name",)
        default_permissions = ("view",)
        permissions: ClassVar = [("operate_schedule", "Can fire, pause and resume schedules")]

    def __str__(self) -> str:
        return str(self.name)


def _refusal(model: type[models.Model]) -> str:
    return (
        f"{model.__name__} is read-only: change jobs with holdfast.contrib.django.client(), which keeps the rows "
        "consistent and wakes workers"
    )
