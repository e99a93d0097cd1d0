"""`manage.py flush`, which also removes the jobs. Django's tests call it after each TransactionTestCase."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.commands import flush
from django.db import connections, transaction

from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.schema import is_installed, removal_of_rows


class Command(flush.Command):
    """Django's command, and then the tables of Holdfast. Django leaves out tables that its models do not manage."""

    def handle(self, **options: Any) -> None:
        super().handle(**options)
        try:
            configured = configuration()
        except ImproperlyConfigured:
            return
        connection = connections[options["database"]]
        if options["database"] != configured.database or not is_installed(connection, configured.schema):
            return
        with transaction.atomic(using=configured.database), connection.cursor() as cursor:
            for statement in removal_of_rows(connection, configured.schema):
                cursor.execute(statement)
