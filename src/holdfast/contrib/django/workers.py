"""The registry for worker processes: `holdfast.contrib.django.workers:jobs`. The import sets Django up."""

from __future__ import annotations

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from holdfast.contrib.django.discovery import discover

jobs = discover()
