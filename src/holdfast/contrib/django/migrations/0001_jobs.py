"""The tables of the first release, and the models that read them."""

from typing import ClassVar

from django.db import migrations, models

from holdfast.contrib.django.schema import ApplySql
from holdfast.contrib.django.tables import MomentField, table

STATUSES = [(name, name) for name in ("blocked", "pending", "running", "completed", "failed", "cancelled")]


class Migration(migrations.Migration):
    initial = True

    dependencies: ClassVar = []

    operations: ClassVar = [
        ApplySql("0001_jobs"),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("seq", models.BigIntegerField(editable=False)),
                ("id", models.TextField(primary_key=True, serialize=False)),
                ("type", models.TextField()),
                ("chain_id", models.TextField(verbose_name="chain")),
                ("chain_index", models.IntegerField(verbose_name="position in the chain")),
                ("status", models.TextField(choices=STATUSES)),
                ("priority", models.BigIntegerField()),
                ("attempt", models.BigIntegerField()),
                ("max_attempts", models.BigIntegerField(null=True)),
                ("key", models.TextField(null=True)),
                ("worker", models.TextField(null=True)),
                ("leased_until", MomentField(null=True)),
                ("progress", models.FloatField(null=True)),
                ("progress_note", models.TextField(null=True)),
                ("created_at", MomentField(verbose_name="created")),
                ("scheduled_at", MomentField(verbose_name="due")),
                ("started_at", MomentField(null=True, verbose_name="started")),
                ("finished_at", MomentField(null=True, verbose_name="finished")),
                ("open_blockers", models.IntegerField()),
                ("input", models.BinaryField()),
                ("output", models.BinaryField(null=True)),
                ("error", models.BinaryField(null=True)),
            ],
            options={
                "db_table": table("job"),
                "ordering": ("-seq",),
                "permissions": [
                    ("operate_job", "Can retry, cancel and run jobs now"),
                    ("delete_job", "Can delete jobs"),
                ],
                "managed": False,
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Chain",
            fields=[],
            options={
                "ordering": ("-seq",),
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("holdfast.job",),
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("seq", models.BigIntegerField(primary_key=True, serialize=False)),
                ("job_id", models.TextField(verbose_name="job")),
                ("number", models.BigIntegerField()),
                ("worker", models.TextField(null=True)),
                ("started_at", MomentField(null=True, verbose_name="started")),
                ("ended_at", MomentField(verbose_name="ended")),
                ("outcome", models.TextField()),
                ("error", models.BinaryField(null=True)),
                ("next_at", MomentField(null=True, verbose_name="next")),
            ],
            options={
                "db_table": table("attempt"),
                "ordering": ("seq",),
                "managed": False,
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("type", models.TextField()),
                ("ticks_at", MomentField(null=True, verbose_name="next tick")),
                ("body", models.BinaryField()),
            ],
            options={
                "db_table": table("schedule"),
                "ordering": ("name",),
                "permissions": [("operate_schedule", "Can fire, pause and resume schedules")],
                "managed": False,
                "default_permissions": ("view",),
            },
        ),
    ]
