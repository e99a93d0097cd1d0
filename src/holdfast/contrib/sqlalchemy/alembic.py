"""Alembic: Holdfast's tables are not compared with the models, and an operation runs Holdfast's migrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.contrib.sqlalchemy.schema import postgres_statements, sqlite_statements, sqlite_tables
from holdfast.errors import MissingExtra

try:
    from alembic import op
    from alembic.operations import MigrateOperation, Operations
except ModuleNotFoundError as error:
    raise MissingExtra("holdfast.contrib.sqlalchemy.alembic", "alembic") from error

SCHEMA = "holdfast"

IncludeObject = Callable[[Any, str | None, str, bool, Any], bool]


def include_object(object: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
    """False for the tables of Holdfast: ``context.configure(include_object=include_object)`` in env.py.

    For another schema than `holdfast`, or together with a filter of your own, use `filtered`.
    """
    return not _is_ours(object, SCHEMA)


def filtered(include: IncludeObject | None = None, *, schema: str = SCHEMA) -> IncludeObject:
    """A filter for `include_object=` that leaves out the tables of Holdfast and what `include` leaves out."""

    def both(object: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
        if _is_ours(object, schema):
            return False
        return include is None or include(object, name, type_, reflected, compare_to)

    return both


class MigrateHoldfast(MigrateOperation):
    """Creates Holdfast's tables, or brings them up to date."""

    def __init__(self, schema: str = SCHEMA) -> None:
        self.schema = schema

    @classmethod
    def migrate_holdfast(cls, operations: Operations, *, schema: str = SCHEMA) -> None:
        """Run the missing migrations of Holdfast in the transaction of this migration."""
        operations.invoke(cls(schema))


def migrate_holdfast(*, schema: str = SCHEMA) -> None:
    """Run the missing migrations of Holdfast in the transaction of this migration: the typed form of the operation.

    `schema` is that of the address of the store, on PostgreSQL.
    """
    op.invoke(MigrateHoldfast(schema))


def _run(operations: Operations, operation: MigrateHoldfast) -> None:
    context = operations.get_context()
    name = context.dialect.name
    if name not in ("postgresql", "sqlite"):
        raise NotImplementedError(f"Holdfast keeps jobs in PostgreSQL or SQLite, not in {name}")
    connection = None if context.as_sql else operations.get_bind()
    statements = postgres_statements(operation.schema) if name == "postgresql" else sqlite_statements(connection)
    for statement in statements:
        if connection is None:
            context.impl.static_output(f"{statement.strip().removesuffix(';')};")
        else:
            # Without parameters, a percent sign in the statement has no meaning for the driver.
            connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _is_ours(object: Any, schema: str) -> bool:
    table = getattr(object, "table", object)
    found = getattr(table, "schema", None)
    return found == schema or (found is None and getattr(table, "name", None) in sqlite_tables())


Operations.register_operation("migrate_holdfast")(MigrateHoldfast)
Operations.implementation_for(MigrateHoldfast)(_run)
