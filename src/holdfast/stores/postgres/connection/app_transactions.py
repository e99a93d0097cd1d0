"""Which of the application's connections may carry our statements, and on what terms."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from holdfast.engine.operations import Complete, Guard, LockChain, Operation
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.connection.same_database import Belonging
from holdfast.stores.postgres.errors import ABORTED, NotMigrated, is_aborted, is_denied, is_missing, not_permitted
from holdfast.stores.postgres.execution import BEGIN, COMMIT, Turn
from holdfast.stores.postgres.verbs.plans import plan as plan_of
from holdfast.stores.postgres.verbs.start_rights import StartRights
from holdfast.stores.postgres.wakeups.notification import channel, payloads
from holdfast.stores.sql import plan
from holdfast.stores.sql.driver import AsyncDriver, Driver
from holdfast.stores.sql.lent_transaction import Mark, ended
from holdfast.stores.sql.plan import Plan, Row, Statement, sets_of
from holdfast.stores.sql.redaction import redact

R = TypeVar("R")

_BLOCKING = (
    "a psycopg Connection, a SQLAlchemy Session or Connection, or Django's connection or the alias of a database"
)
_ASYNC = "a psycopg AsyncConnection, an asyncpg Connection, or a SQLAlchemy AsyncSession or AsyncConnection"

_NOTIFY = "select pg_notify(:channel::text, :payload::text)"
_LOOK = Statement("select 1")
_TRANSACTION = Statement("select txid_current_if_assigned()")


class Joined(Protocol):
    """What joining needs to know of the store."""

    address: PostgresAddress
    name: str
    schema: str
    notify: bool

    def turn(self) -> Turn: ...

    def send(self, hints: Hints, /) -> None: ...

    def send_soon(self, hints: Hints, /) -> None: ...


def blocking_driver(tx: Any) -> Driver:
    """A driver for the application's blocking connection. TypeError says what is taken."""
    if _is(tx, "psycopg", "Connection"):
        from holdfast.stores.drivers.psycopg3 import PsycopgDriver

        return PsycopgDriver(tx)
    if isinstance(tx, str) and find_spec("django") is None:
        raise TypeError("tx is an alias of Django's, and Django is not installed: pip install 'holdfast[django]'")
    if (isinstance(tx, str) or _comes_from(tx, "django")) and (driver := _django(tx)) is not None:
        return driver
    if _comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.blocking(tx)) is not None:
            return driver
    if _is_async(tx):
        raise TypeError(f"{_kind(tx)} is async: it belongs to Client. SyncClient takes {_BLOCKING}")
    raise TypeError(f"tx is {_kind(tx)}; this store takes {_BLOCKING}")


def async_driver(tx: Any) -> AsyncDriver:
    """A driver for the application's async connection. TypeError says what is taken."""
    if _is(tx, "psycopg", "AsyncConnection"):
        from holdfast.stores.drivers.psycopg3 import AsyncPsycopgDriver

        return AsyncPsycopgDriver(tx)
    if _comes_from(tx, "asyncpg") and hasattr(tx, "is_in_transaction"):
        from holdfast.stores.drivers.asyncpg import AsyncpgDriver

        return AsyncpgDriver(tx)
    if _comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.asynchronous(tx)) is not None:
            return driver
        if sql_alchemy.blocking(tx) is not None:
            raise TypeError(f"{_kind(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    if _is(tx, "psycopg", "Connection") or isinstance(tx, str) or _comes_from(tx, "django"):
        raise TypeError(f"{_kind(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    raise TypeError(f"tx is {_kind(tx)}; this store takes {_ASYNC}")


class Joining:
    """A store's terms for one transaction of the application's."""

    def __init__(self, store: Joined, after_commit: Callable[[Callable[[], None]], bool]) -> None:
        self._store = store
        self._after_commit = after_commit
        self._verb = ""
        self._render: Renderer

    def turn(self) -> Turn:
        return self._store.turn()

    def plan_joined(self, operation: Operation[R], turn: plan.Turn, connection: Any, mark: Mark, /) -> Plan[R]:
        """An operation as part of the application's transaction, in the words of its driver."""
        assert isinstance(turn, Turn)
        self._verb = operation.verb
        style = Style.NUMBERED if _comes_from(connection, "asyncpg") else Style.NAMED
        self._render = Renderer.of(self._store.schema, style)
        return self._rendered(self._whole(operation, turn, connection, mark), style)

    def _whole(self, operation: Operation[R], turn: Turn, connection: Any, mark: Mark) -> Plan[R]:
        mark.check(is_open=_is_in_transaction(connection))
        yield from _refuse_autocommit(connection)
        native = _native(connection)
        yield from Belonging.of(self._store).check(native)
        if operation.verb in ("start", "mark") and (yield from StartRights.of(self._store).only_by_functions(native)):
            self._render = self._render.with_calls()
        if operation.verb == Complete.verb and mark.id is not None:
            # Before it writes: what is written in another transaction could be committed all the same.
            ((id,),) = yield _TRANSACTION
            if id != mark.id:
                raise ended(borrowed=True)
        answer = yield from plan_of(turn, operation)
        if operation.verb in (LockChain.verb, Guard.verb):
            mark.held = True
        if operation.verb == LockChain.verb:
            ((mark.id,),) = yield _TRANSACTION
        if not self._store.notify:
            return answer  # the transaction tells of what is left in the turn
        hints, turn.hints = turn.hints, Hints()
        if hints and not self._after_commit(lambda: self._store.send(hints)):
            # Sent with the commit. Equal ones are one: a transaction that starts a thousand jobs tells of them once.
            for payload in payloads(hints):
                yield Statement(_NOTIFY, {"channel": channel(self._store.schema), "payload": payload})
        return answer

    def _rendered(self, steps: Plan[R], style: Style) -> Plan[R]:
        """A plan as the driver takes it, within a transaction that is open: no step begins or ends one."""
        try:
            step = next(steps)
            while True:
                rows: list[Row] = []
                if step is not BEGIN and step is not COMMIT:
                    rendered = self._render(step.sql)
                    for parameters in sets_of(step):
                        given = rendered.values(parameters) if style is Style.NUMBERED else parameters
                        rows += yield Statement(rendered.text, given)
                step = steps.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except Exception as error:
            redact(error)
            name, schema = self._store.name, self._store.schema
            if is_missing(error):
                raise NotMigrated(name, schema, str(error).partition("\n")[0]) from error
            if is_denied(error):
                raise not_permitted(error, name, schema, self._verb) from error
            if is_aborted(error):
                raise RuntimeError(ABORTED) from error
            # The application handles the other errors of its own driver, a serialization failure above all.
            raise

    def translated(self) -> AbstractContextManager[None]:
        return self._translated()

    def send(self, hints: Hints, /) -> None:
        self._store.send(hints)

    def send_soon(self, hints: Hints, /) -> None:
        self._store.send_soon(hints)


def _refuse_autocommit(connection: Any) -> Plan[None]:
    """ValueError for a connection that would commit each statement by itself."""
    if _comes_from(connection, "asyncpg"):
        # SQLAlchemy begins with the first statement, so there must have been one.
        yield _LOOK
        alone = not connection.is_in_transaction()
    elif _comes_from(connection, "django"):
        alone = connection.get_autocommit() and not connection.in_atomic_block
    elif _comes_from(connection, "psycopg", "psycopg2"):
        idle = connection.info.transaction_status == 0
        alone = connection.autocommit and idle
    else:
        raise ValueError(f"tx leads to {_kind(connection)}, which is not a connection to a PostgreSQL database")
    if alone:
        raise ValueError("tx would commit each statement by itself: open a transaction on it first, or leave tx out")


def _is_in_transaction(connection: Any) -> bool:
    native = _native(connection)
    if _comes_from(native, "asyncpg"):
        return bool(native.is_in_transaction())
    return not hasattr(native, "info") or native.info.transaction_status != 0


def _native(connection: Any) -> Any:
    """The driver's own connection, behind one of Django's."""
    if not _comes_from(connection, "django"):
        return connection
    connection.ensure_connection()
    return connection.connection


def _django(tx: Any) -> Driver | None:
    from django.db import connections
    from django.db.backends.base.base import BaseDatabaseWrapper

    from holdfast.stores.drivers.django import DjangoDriver

    # `django.db.connection` stands for the default alias of the thread that uses it.
    wrapper = connections[tx] if isinstance(tx, str) else connections[tx.alias] if hasattr(tx, "alias") else None
    if not isinstance(wrapper, BaseDatabaseWrapper):
        return None
    if wrapper.vendor != "postgresql":
        raise ValueError(f"database {wrapper.alias!r} of Django is {wrapper.vendor}, not PostgreSQL")
    return DjangoDriver(wrapper)


def _is(tx: Any, package: str, name: str) -> bool:
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(tx).__mro__)


def _comes_from(tx: Any, *packages: str) -> bool:
    return any(kind.__module__.partition(".")[0] in packages for kind in type(tx).__mro__)


def _is_async(tx: Any) -> bool:
    return _comes_from(tx, "asyncpg") or any(kind.__name__.lower().startswith("async") for kind in type(tx).__mro__)


def _kind(tx: Any) -> str:
    return f"{type(tx).__module__.partition('.')[0]}'s {type(tx).__qualname__}"
