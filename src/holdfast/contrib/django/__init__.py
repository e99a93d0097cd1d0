"""Holdfast in a Django project: `INSTALLED_APPS = ["holdfast.contrib.django", ...]`.

The store is a database of the project (`HOLDFAST = {"DATABASE": "default"}`) or an address (`{"STORE": "redis://..."}`).
Nothing here imports models before Django has loaded its apps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.contrib.django.backend import HoldfastBackend
    from holdfast.contrib.django.clients import client
    from holdfast.contrib.django.discovery import registry
    from holdfast.contrib.django.task_options import task

__all__ = ["HoldfastBackend", "client", "registry", "task"]

_MODULES = {"HoldfastBackend": "backend", "client": "clients", "registry": "discovery", "task": "task_options"}


def __getattr__(name: str) -> Any:
    # Imported at the first use: Django imports this package before it has loaded the apps.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
