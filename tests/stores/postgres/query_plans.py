"""Query plans of statements, with the settings of the store's connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connect import PLANNER
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.rows import SQL


def plan(store: PostgresStore, connection: psycopg.Connection, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The query plan of a statement after its execution, which is rolled back."""
    return plan_of(store, connection, SQL[name], parameters)


def plan_of(
    store: PostgresStore, connection: psycopg.Connection, text: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The same of a statement that a verb composes."""
    rendered = Renderer.of(store.schema, Style.NUMBERED)(text)
    values = sql.Composed([sql.Literal(parameters[name]) for name in rendered.names]).join(", ")
    arguments = [sql.SQL("("), values, sql.SQL(")")] if rendered.names else []
    query = sql.Composed([sql.SQL("explain (analyze, buffers, format json) execute planned "), *arguments])
    with connection.transaction(force_rollback=True):
        for name, value in PLANNER.items():
            connection.execute("select set_config(%s, %s, true)", (name, value))
        connection.execute(b"prepare planned as " + rendered.encoded, prepare=False)
        row = connection.execute(query, prepare=False).fetchone()
    connection.execute("deallocate planned")
    assert row is not None
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def generic_plan(store: PostgresStore, connection: psycopg.Connection, text: str) -> dict[str, Any]:
    """The plan that a session keeps for a statement and any parameters. The statement is not executed."""
    rendered = Renderer.of(store.schema, Style.NUMBERED)(text.replace("/* narrowed */", ""))
    nulls = f"({', '.join('null' for _ in rendered.names)})" if rendered.names else ""
    with connection.transaction(force_rollback=True):
        passed = {f"holdfast_claim.{name}": f"{{{','.join(map(str, range(500)))}}}" for name in ("tracks", "lanes")}
        for name, value in {**PLANNER, "plan_cache_mode": "force_generic_plan", **passed}.items():
            connection.execute("select set_config(%s, %s, true)", (name, value), prepare=False)
        connection.execute(b"prepare planned as " + rendered.encoded, prepare=False)
        row = connection.execute(f"explain (format json) execute planned{nulls}".encode(), prepare=False).fetchone()
        connection.execute("deallocate planned", prepare=False)
    assert row is not None
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def rows_of(
    store: PostgresStore, connection: psycopg.Connection, text: str, parameters: Mapping[str, Any]
) -> list[Any]:
    """The rows of a statement."""
    rendered = Renderer.of(store.schema, Style.NAMED)(text)
    return connection.execute(rendered.encoded, parameters).fetchall()


def nodes_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes_of(child)


def scans_of(node: dict[str, Any], table: str) -> list[dict[str, Any]]:
    return [
        each for each in nodes_of(node) if each.get("Relation Name") == table and each["Node Type"] != "ModifyTable"
    ]


def blocks_of(node: dict[str, Any]) -> int:
    """The number of blocks that the node read, from the cache or the disk."""
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])
