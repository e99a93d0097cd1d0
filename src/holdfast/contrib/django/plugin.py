"""What workers do with Django's connections: checked and closed around handlers, and shared with transactions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections

from holdfast.contrib.django.async_guard import refusing_models
from holdfast.contrib.django.checked_connections import checked_connections
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.task_signals import KINDS, FinishedSignals
from holdfast.contrib.django.transactions import ConnectionTransaction, TransactionConnections, installed
from holdfast.engine.events import Event
from holdfast.engine.store import Store, SyncTransaction
from holdfast.registry.plugin import Plugin

if TYPE_CHECKING:
    from holdfast.worker.worker import Worker

in_test: ContextVar[bool] = ContextVar("holdfast_django_in_test", default=False)
"""Whether a test runs its jobs on its own connection: then connections are neither checked nor closed."""


class DjangoPlugin(Plugin):
    """A plugin of the project's registry."""

    def __init__(self) -> None:
        self._connections = TransactionConnections()
        self._finished = FinishedSignals()

    def wants(self, kind: str) -> bool:
        return kind in KINDS

    def observe(self, event: Event, /) -> None:
        self._finished.receive(event, in_test=in_test.get())

    def in_thread(self, attempt: Any, /) -> AbstractContextManager[None]:
        return nullcontext() if in_test.get() else checked_connections()

    def in_child(self, attempt: Any, /) -> Callable[[], AbstractContextManager[None]]:
        # The child imports this module first, which sets Django up: models cannot be imported before.
        from holdfast.contrib.django.child_process import in_child_process

        return in_child_process

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        if in_test.get() or not _is_async(attempt):
            return await call_next()
        # As Django does for a request: the models of one handler use one thread, and handlers do not wait for others.
        context = ThreadSensitiveContext()
        async with context:
            try:
                return await call_next()
            finally:
                if context in SyncToAsync.context_to_thread_executor:  # the handler has used models
                    await sync_to_async(connections.close_all)()

    def begin(self, attempt: Any, store: Store, /) -> SyncTransaction | None:
        alias = configuration().database
        if alias is None or in_test.get():
            return None
        return self._connections.begin(alias, store.join_sync)

    def in_block(self, attempt: Any, tx: Any, /) -> AbstractContextManager[None]:
        if isinstance(tx, ConnectionTransaction):
            return installed(tx.wrapper)
        refused = _is_async(attempt) and configuration().database is not None
        return refusing_models() if refused else nullcontext()

    def lifespan(self, worker: Worker, /) -> AbstractAsyncContextManager[None]:
        return self._lifespan()

    @asynccontextmanager
    async def _lifespan(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._finished.close()
            await sync_to_async(self._connections.close)()


def _is_async(attempt: Any) -> bool:
    return bool(attempt.__holdfast_attempt__ == "async")
