"""The functions for roles that may only start jobs, on PostgreSQL."""

from typing import ClassVar

from django.db import migrations

from holdfast.contrib.django.schema import ApplySql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("holdfast", "0001_jobs")]

    operations: ClassVar = [ApplySql("0002_start_functions")]
