"""Runs operations in a transaction of the application, on the connection of its own driver."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from holdfast.engine.generators import translate
from holdfast.engine.operations import Guard, LockChain, Operation
from holdfast.engine.wakeups import Hints
from holdfast.errors import Deadlock
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.app_drivers import (
    async_driver,
    blocking_driver,
    class_name,
    comes_from,
    native_connection,
)
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.connection.same_database import SameDatabase
from holdfast.stores.postgres.errors import (
    ABORTED,
    NotMigrated,
    is_aborted,
    is_deadlock,
    is_denied,
    is_missing,
    not_permitted,
)
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    CommittingStatement,
    Instruction,
    NotifyingStatement,
    Pipeline,
    Plan,
    Result,
    SavepointCommand,
)
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.plans import plan as plan_of
from holdfast.stores.postgres.verbs.start_only_role import StartRights
from holdfast.stores.postgres.wakeups.notification import channel, payloads
from holdfast.stores.sql import plan
from holdfast.stores.sql.app_transaction import JoinedSyncTransaction, JoinedTransaction
from holdfast.stores.sql.lent_transaction import SAME_TRANSACTION, TransactionIdentity, ended
from holdfast.stores.sql.plan import Many, Row, Statement, sets_of
from holdfast.stores.sql.redaction import redact

R = TypeVar("R")

_NOTIFY = "select pg_notify(:channel::text, :payload::text)"
_ANY_STATEMENT = Statement("select 1")
_TRANSACTION = Statement("select txid_current_if_assigned()")


class JoinedStore(Protocol):
    """The part of the store that a transaction of the application uses."""

    address: PostgresAddress
    name: str
    schema: str
    notify: bool

    def new_context(self) -> PlanContext: ...

    def send(self, hints: Hints, /) -> None: ...

    def send_soon(self, hints: Hints, /) -> None: ...


class AppTransaction(JoinedTransaction):
    """A transaction of the application in async code."""

    def __init__(self, store: JoinedStore, tx: Any) -> None:
        driver = async_driver(tx)
        super().__init__(_Plans(store, driver.after_commit), driver, tx)
        self._same_database = SameDatabase.of(store)

    async def _check(self, connection: Any) -> None:
        check_open(connection, self._identity)
        await self._same_database.check_async(native_connection(connection), self._driver.execute)


class SyncAppTransaction(JoinedSyncTransaction):
    """A transaction of the application in blocking code."""

    def __init__(self, store: JoinedStore, tx: Any) -> None:
        driver = blocking_driver(tx)
        super().__init__(_Plans(store, driver.after_commit), driver, tx)
        self._same_database = SameDatabase.of(store)

    def _check(self, connection: Any) -> None:
        check_open(connection, self._identity)
        self._same_database.check(native_connection(connection), self._driver.execute)


class _Plans:
    """The plans of operations in one transaction of the application."""

    def __init__(self, store: JoinedStore, after_commit: Callable[[Callable[[], None]], bool]) -> None:
        self._store = store
        self._after_commit = after_commit
        self._verb = ""
        self._render: Renderer

    def new_context(self) -> PlanContext:
        return self._store.new_context()

    def plan_joined(
        self, operation: Operation[R], context: plan.PlanContext, connection: Any, identity: TransactionIdentity, /
    ) -> plan.Plan[R]:
        """The plan of an operation, with statements in the parameter style of the driver."""
        assert isinstance(context, PlanContext)
        self._verb = operation.verb
        style = Style.NUMBERED if comes_from(connection, "asyncpg") else Style.NAMED
        self._render = Renderer.of(self._store.schema, style)
        return translate(
            self._whole(operation, context, connection, identity),
            lambda instruction: self._rendered(instruction, style),
        )

    def _whole(
        self, operation: Operation[R], context: PlanContext, connection: Any, identity: TransactionIdentity
    ) -> Plan[R]:
        yield from _refuse_autocommit(connection)
        rights = StartRights.of(self._store)
        if operation.verb in ("start", "mark") and (yield from rights.only_by_functions(native_connection(connection))):
            self._render = self._render.with_calls()
        if operation.verb in SAME_TRANSACTION and identity.id is not None:
            # Checked before the first write: otherwise the application could commit the writes in another transaction.
            ((id,),) = yield _TRANSACTION
            if id != identity.id:
                raise ended(borrowed=identity.borrowed)
        answer = yield from plan_of(context, operation)
        if operation.verb in (LockChain.verb, Guard.verb):
            identity.holds_locks, identity.borrowed = True, operation.verb == LockChain.verb
            ((identity.id,),) = yield _TRANSACTION
        if not self._store.notify:
            return answer  # the transaction sends the hints of the plan
        hints, context.hints = context.hints, Hints()
        if hints and not self._after_commit(lambda: self._store.send(hints)):
            # The server sends them at the commit, and equal ones once: the start of a thousand jobs causes one.
            for payload in payloads(hints):
                yield Statement(_NOTIFY, {"channel": channel(self._store.schema), "payload": payload})
        return answer

    def _rendered(self, instruction: Instruction, style: Style) -> plan.Plan[Result]:
        """An instruction as statements for the driver. The transaction is already open: nothing begins or ends one."""
        match instruction:
            case Begin() | Commit():
                return Result()
            case Pipeline(steps):
                result = Result()
                for each in steps:
                    result += yield from self._rendered(each, style)
                return result
            case NotifyingStatement(statement) | CommittingStatement(statement):
                return Result((yield from self._statements(statement, style)))
            case _:
                return Result((yield from self._statements(instruction, style)))

    def _statements(self, instruction: Statement | Many | SavepointCommand, style: Style) -> plan.Plan[list[Row]]:
        rows: list[Row] = []
        rendered = self._render(instruction.sql)
        sets: Iterable[Any] = sets_of(instruction) if isinstance(instruction, Statement | Many) else ({},)
        for parameters in sets:
            given = rendered.values(parameters) if style is Style.NUMBERED else parameters
            rows += yield Statement(rendered.text, given)
        return rows

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
            if is_deadlock(error):
                raise Deadlock(name, self._verb) from error
            if is_aborted(error):
                raise RuntimeError(ABORTED) from error
            # The application handles all other errors of its driver, such as a serialization failure.
            raise

    def translated(self) -> AbstractContextManager[None]:
        return self._translated()

    def send(self, hints: Hints, /) -> None:
        self._store.send(hints)

    def send_soon(self, hints: Hints, /) -> None:
        self._store.send_soon(hints)


def _refuse_autocommit(connection: Any) -> Plan[None]:
    """Raises ValueError for a connection that would commit each statement by itself."""
    if comes_from(connection, "asyncpg"):
        # SQLAlchemy begins the transaction with the first statement.
        yield _ANY_STATEMENT
        autocommits = not connection.is_in_transaction()
    elif comes_from(connection, "django"):
        autocommits = connection.get_autocommit() and not connection.in_atomic_block
    else:
        idle = connection.info.transaction_status == 0
        autocommits = connection.autocommit and idle
    if autocommits:
        raise ValueError("tx would commit each statement by itself: open a transaction on it first, or leave tx out")


def check_open(connection: Any, identity: TransactionIdentity) -> None:
    """Raises ValueError for another kind of database, RuntimeError if an earlier operation's transaction has ended."""
    if not comes_from(connection, "asyncpg", "django", "psycopg", "psycopg2"):
        raise ValueError(f"tx gives {class_name(connection)}, which is not a connection to a PostgreSQL database")
    identity.check(is_open=_is_in_transaction(native_connection(connection)))


def _is_in_transaction(native: Any) -> bool:
    if comes_from(native, "asyncpg"):
        return bool(native.is_in_transaction())
    return not hasattr(native, "info") or native.info.transaction_status != 0
