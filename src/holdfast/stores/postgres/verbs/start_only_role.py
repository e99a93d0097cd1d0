"""Whether the role of an application's connection may start jobs only by the functions of the schema."""

from __future__ import annotations

from typing import Any, Protocol
from weakref import WeakKeyDictionary

from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_SESSION = SQL["session"]


class Named(Protocol):
    """A store with a schema."""

    schema: str


class StartRights:
    """The rights of the roles that connect to a store. The server is asked once for each role."""

    @classmethod
    def of(cls, store: Named) -> StartRights:
        """The instance of this store."""
        found = _INSTANCES.get(store)
        return found if found is not None else _INSTANCES.setdefault(store, cls(store.schema))

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._only: dict[str, bool] = {}

    def only_by_functions(self, connection: Any) -> Plan[bool]:
        """Whether this connection must call functions instead of the statements of a start."""
        role = _role(connection)
        if role is not None and (known := self._only.get(role)) is not None:
            return known
        ((_, only),) = yield Statement(_SESSION, {"schema": self._schema})
        if role is not None:
            self._only[role] = only
        return bool(only)


_INSTANCES: WeakKeyDictionary[Named, StartRights] = WeakKeyDictionary()


def _role(connection: Any) -> str | None:
    """The login role of the connection; None if its driver does not expose it."""
    if (info := getattr(connection, "info", None)) is not None:
        return str(info.user)
    parameters = getattr(getattr(connection, "_con", connection), "_params", None)
    user = getattr(parameters, "user", None)
    return None if user is None else str(user)
