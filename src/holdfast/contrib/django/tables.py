"""The names of the tables, and the fields of their columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.db import models

from holdfast.contrib.django.configuration import configuration, vendor
from holdfast.core.clock import to_micros
from holdfast.core.job import moment


def table(name: str) -> str:
    """The name of a table in the database of the setting. Without such a database, that of SQLite."""
    try:
        configured = configuration()
    except ImproperlyConfigured:  # the system checks report it
        return f"holdfast_{name}"
    if configured.database is not None and vendor(configured.database) == "postgresql":
        return f'"{configured.schema}"."{name}"'  # in quotation marks, Django uses it as it is
    return f"holdfast_{name}"


if TYPE_CHECKING:
    _Integer = models.BigIntegerField[Any, Any]
else:  # Django's fields are generic only for type checkers
    _Integer = models.BigIntegerField


class MomentField(_Integer):
    """A time that is stored as microseconds since 1970. Its values are aware datetimes.

    None: there is none, or the job waits for a message without a timeout.
    """

    description = "Microseconds since 1970"

    def from_db_value(self, value: int | None, expression: Any, connection: Any) -> datetime | None:
        return moment(value)

    def get_prep_value(self, value: Any) -> Any:
        return to_micros(value) if isinstance(value, datetime) else super().get_prep_value(value)

    def to_python(self, value: Any) -> Any:
        return value if isinstance(value, datetime) else super().to_python(value)

    def value_to_string(self, obj: models.Model) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else value.isoformat()
