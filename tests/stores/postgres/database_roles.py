"""The roles of the guide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast.engine.operations import (
    TypeTerms,
)
from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres

TERMS = (TypeTerms("resize", 60_000_000, 25),)
GUIDE = Path(__file__).parents[3] / "docs" / "stores" / "postgres.md"


@pytest.fixture
def roles(server: Postgres, store: PostgresStore, connection: psycopg.Connection) -> Iterator[dict[str, PostgresStore]]:
    """A store for each role of the guide."""
    found = re.search(r"```sql roles\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    suffix = store.schema
    text = found[1].replace("holdfast.", f'"{store.schema}".').replace("schema holdfast", f'schema "{store.schema}"')
    text = re.sub(r"holdfast_(\w+)", rf"\1_{suffix}", text)
    connection.execute(text.encode())
    stores: dict[str, PostgresStore] = {}
    for role in ("reads", "starts", "works"):
        connection.execute(f"alter role {role}_{suffix} login".encode())
        stores[role] = PostgresStore(server.address(user=f"{role}_{suffix}", schema=store.schema, notify="off"))
    yield stores
    for role, handle in stores.items():
        handle.close_sync()
        connection.execute(f"drop owned by {role}_{suffix}".encode())
        connection.execute(f"drop role {role}_{suffix}".encode())


def alone(id: str, *, priority: int = 0, keep: int | None = None, failure: str = "wait") -> list[Any]:
    options = [None, None, keep, None]
    return [id, "resize", priority, None, 0, *options, None, failure, b"1"]
