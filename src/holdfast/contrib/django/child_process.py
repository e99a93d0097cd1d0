"""Child processes of `executor="process"`. The import sets Django up, before the handler's module is imported."""

from __future__ import annotations

from contextlib import AbstractContextManager

import django
from django.apps import apps

if not apps.ready:
    django.setup()


def in_child_process() -> AbstractContextManager[None]:
    """What a handler in a child process runs in."""
    from holdfast.contrib.django.checked_connections import checked_connections

    return checked_connections()
