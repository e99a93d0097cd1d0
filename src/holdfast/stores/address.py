"""Creates a store from its address."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from urllib.parse import quote

from holdfast.engine.store import Store
from holdfast.engine.wakeups import Wakeups
from holdfast.stores.extras import needing_extra
from holdfast.stores.memory import MemoryStore
from holdfast.stores.password_escaping import check_escaped
from holdfast.stores.sharded.address import is_sharded, read_shards

LOADERS: dict[str, str] = {
    "redis": "holdfast.stores.redis:RedisStore",
    "redis+cluster": "holdfast.stores.redis:RedisStore",
    "rediss": "holdfast.stores.redis:RedisStore",
    "rediss+cluster": "holdfast.stores.redis:RedisStore",
    "redis+sentinel": "holdfast.stores.redis:RedisStore",
    "rediss+sentinel": "holdfast.stores.redis:RedisStore",
    "postgres": "holdfast.stores.postgres:PostgresStore",
    "postgresql": "holdfast.stores.postgres:PostgresStore",
    "sqlite": "holdfast.stores.sqlite:SqliteStore",
}
"""Scheme to the class of its store. The class is imported at its first use, because it imports a driver."""

SQL = {"postgres", "postgresql", "sqlite"}
"""Schemes of stores that accept other wake-ups."""

StoreAddress = str | Store | Mapping[str, str | Store]
"""The address of a store, a store, or several of them by the names of their shards."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_shared: dict[str, MemoryStore] = {}
_lock = threading.Lock()


def open_store(address: StoreAddress, wakeups: str | Wakeups | None = None) -> Store:
    """The store of an address, not yet connected. A store object is returned as it is.

    Several addresses or objects by name are one store with these shards.

    A SQL store accepts other wake-ups, given as an address or as an object. The caller closes an object.
    `memory://NAME` is one store per process; `memory://` is a new store at each call. The text of a ValueError never
    contains the address, because it may contain a password.
    """
    if isinstance(address, Store):
        if wakeups is not None:
            raise ValueError("a Store object has its wake-ups already: give them to it when it is made")
        return address
    if isinstance(address, Mapping):
        return _sharded(address, wakeups)
    if not isinstance(address, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise TypeError(f"a store is given by its address or as a Store object, not as {type(address).__name__}")
    if is_sharded(address):
        return _sharded(read_shards(address), wakeups)
    scheme, separator, rest = address.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        raise ValueError(f"the address of a store begins with one of {_schemes()}")
    check_escaped(address)
    if wakeups is not None and scheme not in SQL:
        raise ValueError(f"wakeups= is for a SQL store; a {scheme}:// store sends its own wake-ups")
    if scheme == "memory":
        return _memory(rest)
    if scheme not in LOADERS:
        hint = (
            f"write {_meant(scheme)}://"
            if _meant(scheme) in LOADERS
            else f"the address of a store begins with one of {_schemes()}"
        )
        raise ValueError(f"there is no store for {scheme}://; {hint}")
    make = _load(LOADERS[scheme])
    return make(address) if wakeups is None else make(address, wakeups=wakeups)


def owns_stores(address: StoreAddress) -> bool:
    """Whether the caller of `open_store` closes the store: it was not given as an object."""
    return not isinstance(address, Store)


def _sharded(addresses: Mapping[str, str | Store], wakeups: str | Wakeups | None) -> Store:
    # Imported here: most programs have one store.
    from holdfast.stores.sharded.store import ShardedStore

    lent = [name for name, each in addresses.items() if isinstance(each, Store)]
    stores = {name: open_store(each, None if isinstance(each, Store) else wakeups) for name, each in addresses.items()}
    if any(store.sharded for store in stores.values()):
        raise ValueError("a shard is one store, not a sharded one")
    _check_distinct(stores, lent)
    return ShardedStore(stores, lent=lent)


def _check_distinct(shards: Mapping[str, Store], lent: Sequence[str]) -> None:
    """ValueError for two names of one store, whose jobs would be listed and counted twice."""
    names: dict[object, str] = {}
    for name, store in shards.items():
        # Memory stores without a name are different, and a store that was given as an object may have any name.
        place = store if name in lent or isinstance(store, MemoryStore) else store.name
        if (other := names.setdefault(place, name)) != name:
            raise ValueError(
                f"the shards {other!r} and {name!r} are the same store, {store.name}. "
                "Give each shard a store, a schema or a namespace of its own"
            )


def _memory(name: str) -> MemoryStore:
    if not name:
        return MemoryStore()
    with _lock:
        if name not in _shared:
            _shared[name] = MemoryStore(f"memory://{name}")
        return _shared[name]


def with_wakeups(address: str, wakeups: str) -> str:
    """The address of a store with the address of its wake-ups as an option."""
    return f"{address}{'&' if '?' in address else '?'}wakeups={quote(wakeups, safe='')}"


def _load(where: str) -> Callable[..., Store]:
    module, _, name = where.partition(":")
    with needing_extra(module):
        make: Callable[..., Store] = getattr(import_module(module), name)
    return make


def _meant(scheme: str) -> str:
    """The scheme that the user probably meant: SQLAlchemy adds the driver, and Valkey uses its own name."""
    return scheme.partition("+")[0] if scheme.startswith(("postgres", "sqlite")) else scheme.replace("valkey", "redis")


def _schemes() -> str:
    return ", ".join(f"{scheme}://" for scheme in sorted({"memory", *LOADERS}))
