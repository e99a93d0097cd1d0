"""The app of Holdfast: finds the registries of the other apps, and registers the system checks."""

from __future__ import annotations

from contextlib import suppress

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created


class HoldfastConfig(AppConfig):
    """`INSTALLED_APPS = ["holdfast.contrib.django", ...]`."""

    name = "holdfast.contrib.django"
    label = "holdfast"
    verbose_name = "Holdfast"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from holdfast.contrib.django import async_guard, checks, discovery, inline_worker

        checks.register()
        connection_created.connect(async_guard.watch_connection, dispatch_uid="holdfast.watch_connection")
        with suppress(ImproperlyConfigured):  # the system checks report it
            discovery.discover()
            inline_worker.start_in_runserver()
