"""Whether the role of an application's connection may start jobs by the functions of the schema only."""

from __future__ import annotations

from typing import Any, Protocol
from weakref import WeakKeyDictionary

from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Plan, Statement

_SESSION = SQL["session"]


class Named(Protocol):
    """A store in a schema."""

    schema: str


class StartRights:
    """What a store knows of the roles that its applications connect with. Each role is asked for once."""

    @classmethod
    def of(cls, store: Named) -> StartRights:
        """The one of this store."""
        found = _KNOWN.get(store)
        return found if found is not None else _KNOWN.setdefault(store, cls(store.schema))

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._only: dict[str, bool] = {}

    def only_by_functions(self, connection: Any) -> Plan[bool]:
        """Whether this connection has to call functions in place of the statements of a start."""
        role = _role(connection)
        if role is not None and (known := self._only.get(role)) is not None:
            return known
        ((_, only),) = yield Statement(_SESSION, {"schema": self._schema})
        if role is not None:
            self._only[role] = only
        return bool(only)


_KNOWN: WeakKeyDictionary[Named, StartRights] = WeakKeyDictionary()


def _role(connection: Any) -> str | None:
    """The role that the connection logged in with; None where its driver does not tell."""
    if (info := getattr(connection, "info", None)) is not None:
        return str(info.user)
    parameters = getattr(getattr(connection, "_con", connection), "_params", None)
    user = getattr(parameters, "user", None)
    return None if user is None else str(user)
