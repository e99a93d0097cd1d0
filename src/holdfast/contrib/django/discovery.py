"""The registry of a Django project: every registry in the module `holdfast_jobs` of each app."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import autodiscover_modules

from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.plugin import DjangoPlugin
from holdfast.registry.jobs import Jobs

TASKS = "tasks"
"""The module in which Django's tasks are declared."""

_lock = threading.RLock()
_registry: Jobs | None = None


def registry() -> Jobs:
    """The registry of the project. It contains what the modules of the apps declare, and Django's tasks."""
    global _registry
    with _lock:
        if _registry is None:
            _registry = Jobs(configuration().name, plugins=[DjangoPlugin()])
        return _registry


def discover() -> Jobs:
    """Import the modules of the apps, and include their registries. A second call adds what was declared meanwhile."""
    module = configuration().module
    autodiscover_modules(module)
    found = registry()
    if uses_tasks():
        from holdfast.contrib.django import task_types

        autodiscover_modules(TASKS)
        task_types.close()
        found.include(task_types.tasks)
    with _lock:
        for each in _modules(module):
            for jobs in list(vars(each).values()):
                if isinstance(jobs, Jobs) and jobs is not found:
                    found.include(jobs)
    return found


def uses_tasks() -> bool:
    """Whether a backend of the setting `TASKS` is Holdfast's."""
    from django.conf import settings

    backends: dict[str, dict[str, str]] = getattr(settings, "TASKS", None) or {}
    return any(_is_ours(each.get("BACKEND", "")) for each in backends.values())


def _is_ours(path: str) -> bool:
    if path.startswith("holdfast.contrib.django."):
        return True
    module, _, name = path.rpartition(".")
    loaded = sys.modules.get(module)  # a subclass of the project: known once it is imported
    kind = getattr(loaded, name, None)
    return isinstance(kind, type) and any(
        each.__module__.startswith("holdfast.contrib.django") for each in kind.__mro__
    )


def _modules(name: str) -> Iterator[ModuleType]:
    for app in apps.get_app_configs():
        found = sys.modules.get(f"{app.name}.{name}")
        if found is not None:
            yield found


def _discover_again(*, setting: str, **_: object) -> None:
    if setting in ("HOLDFAST", "TASKS", "INSTALLED_APPS") and apps.ready:
        with suppress(ImproperlyConfigured):  # the system checks report it
            discover()


setting_changed.connect(_discover_again, dispatch_uid="holdfast.discovery")
