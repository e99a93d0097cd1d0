"""A temporary store on the same server or disk: a schema, a namespace or a file that is removed at the end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, urlencode

from holdfast.core.ids import new_token
from holdfast.stores.address import open_store
from holdfast.stores.sharded.address import is_sharded


@contextmanager
def private_place(address: str) -> Generator[str]:
    """The address of an empty store on the same server or disk. It is removed in any case.

    The name is new each time, so that two measurements may run at once. If a schema, namespace or file with this name
    exists, ValueError is raised, and it is not changed.
    """
    if is_sharded(address):
        raise ValueError("a measurement is about one store: give the address of one shard")
    open_store(address)  # report an invalid address or a missing driver before anything is created
    scheme = address.partition("://")[0]
    name = f"holdfast_bench_{new_token()[:8].lower()}"
    if scheme == "sqlite":
        places = _file(address, name)
    elif scheme.startswith("redis"):
        places = _namespace(address, name)
    elif scheme.startswith("postgres"):
        places = _schema(address, name)
    else:
        places = _nowhere()
    with places as place:
        yield place


@contextmanager
def _schema(address: str, name: str) -> Generator[str]:
    place = _with(address, schema=name)
    postgres: Any = import_module("holdfast.stores.postgres")
    store = postgres.PostgresStore(place)
    store.open_sync()
    try:
        if _rows(store, f"select 1 from pg_namespace where nspname = '{name}'"):  # noqa: S608 - our own name
            raise ValueError(f"there is a schema {name} already")
        try:
            yield place
        finally:
            _rows(store, f"drop schema if exists {name} cascade")
    finally:
        store.close_sync()


def _rows(store: Any, statement: str) -> list[Any]:
    transaction = store.begin_sync()
    try:
        cursor = transaction.native.execute(statement)
        rows: list[Any] = cursor.fetchall() if cursor.description else []
        transaction.commit()
    except BaseException:
        transaction.rollback()
        raise
    return rows


@contextmanager
def _namespace(address: str, name: str) -> Generator[str]:
    place = _with(address, namespace=name)
    addresses: Any = import_module("holdfast.stores.redis.address")
    keys: Any = import_module("holdfast.stores.redis.keys")
    pools: Any = import_module("holdfast.stores.redis.connection.connection_pool")
    locators: Any = import_module("holdfast.stores.redis.connection.node_locator")
    pool = pools.ConnectionPool(locators.NodeLocator(addresses.read_address(place), keys.Keys(name).slot))
    try:
        if any(_keys(pool, name)):
            raise ValueError(f"there is a namespace {name} already")
        try:
            yield place
        finally:
            for batch in _keys(pool, name):
                _send(pool, "UNLINK", *batch)
    finally:
        pool.close()


def _keys(pool: Any, name: str) -> Generator[list[Any]]:
    """The keys of a namespace, in batches."""
    cursor: Any = b"0"
    while True:
        cursor, batch = _send(pool, "SCAN", cursor, "MATCH", f"{{{name}}}*", "COUNT", "1000")
        if batch:
            yield batch
        if int(cursor) == 0:
            return


def _send(pool: Any, *command: Any) -> Any:
    conversation: Any = import_module("holdfast.stores.redis.connection.conversation")
    (reply,) = pool.run(conversation.CommandConversation(command))
    return reply


@contextmanager
def _file(address: str, name: str) -> Generator[str]:
    """A file in the folder of the store, so that it is on the same disk."""
    sqlite: Any = import_module("holdfast.stores.sqlite.address")
    parsed = sqlite.parse(address)
    path = parsed.path.with_name(f"{parsed.path.name}.{name}")
    if path.exists():
        raise ValueError(f"there is a file {path} already")
    query = address.partition("?")[2]
    try:
        yield f"sqlite:///{path}" + (f"?{query}" if query else "")
    finally:
        # The write-ahead log and the other files of SQLite.
        for each in path.parent.glob(f"{path.name}*"):
            each.unlink(missing_ok=True)


@contextmanager
def _nowhere() -> Generator[str]:
    yield "memory://"


def _with(address: str, **options: str) -> str:
    """An address with other options."""
    where, _, query = address.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in options]
    return f"{where}?{urlencode([*kept, *options.items()])}"
