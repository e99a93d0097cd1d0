"""Holdfast in an ASGI application: its client, its inline worker, and what requests depend on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.client.client import Client
from holdfast.contrib.fastapi.background_tasks import DurableBackgroundTasks
from holdfast.contrib.starter import Starter
from holdfast.errors import MissingExtra
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.stores.address import StoreAddress
from holdfast.worker import Worker

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.routing import Route

    from holdfast.contrib.fastapi.router import Mounted

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]


class Holdfast:
    """The client of an application, open while the application runs: ``FastAPI(lifespan=holdfast.lifespan)``.

    `store` is an address, a store, or a client. With `worker=True` the application runs jobs itself; a function
    `worker=lambda client: Worker(client, concurrency=4)` sets the options. `lifespan` is the application's own
    lifespan, for example one that opens the database: it is entered first and exited last.
    """

    def __init__(
        self,
        store: StoreAddress | Client,
        jobs: Jobs | None = None,
        *,
        worker: bool | Callable[[Client], Worker] = False,
        lifespan: Lifespan | None = None,
        migrate: bool = False,
    ) -> None:
        if isinstance(store, Client) and (jobs is not None or migrate):
            raise TypeError("a Client has its own jobs and migrate: Holdfast(Client(store, jobs, migrate=True))")
        self._store = store
        self._jobs = jobs
        self._migrate = migrate
        self._worker = worker
        self._outer = lifespan
        self._client: Client | None = store if isinstance(store, Client) else None

    @property
    def client(self) -> Client:
        """The client. It is open inside the lifespan."""
        if self._client is None:
            raise RuntimeError(
                "the client is opened by the lifespan of the application: FastAPI(lifespan=holdfast.lifespan). "
                "In tests, use `with TestClient(app)`"
            )
        return self._client

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncGenerator[Any]:
        """Enter the application's own lifespan, open the client, start the worker. At the end, undo this in reverse.

        So the worker has finished or released its jobs before the client closes, and the database closes last. The
        value is that of the application's own lifespan.
        """
        async with AsyncExitStack() as stack:
            state = None if self._outer is None else await stack.enter_async_context(self._outer(app))
            client = await stack.enter_async_context(self._opened())
            if self._worker:
                made = Worker(client) if self._worker is True else self._worker(client)
                await stack.enter_async_context(made)
            yield state

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Client]:
        if isinstance(self._store, Client):
            async with self._store:
                yield self._store
            return
        # A new client for each lifespan: tests enter it once per test, each time on another event loop.
        async with Client(self._store, self._jobs, migrate=self._migrate) as self._client:
            try:
                yield self._client
            finally:
                self._client = None

    def starter(self, session: Any) -> Any:
        """A dependency: a `Starter` in the session of the request. `session` is the dependency that provides it.

        ``Annotated[Starter, holdfast.starter(get_session)]``. Give the same `Depends(...)` object as the endpoint if it
        has options: with other options FastAPI would open another session.
        """
        depends = _depends(session)

        async def provide(session: Any = depends) -> Starter:
            return Starter(self.client, session)

        return _depends(provide)

    def background_tasks(self, session: Any = None) -> Any:
        """A dependency: `DurableBackgroundTasks` that are started before the response is sent, if there is no error.

        ``Annotated[DurableBackgroundTasks, holdfast.background_tasks()]``. With the dependency of a session, they are
        started in its transaction, directly before its commit.
        """
        if session is None:

            async def alone() -> AsyncGenerator[DurableBackgroundTasks]:
                async with DurableBackgroundTasks(self.client) as tasks:
                    yield tasks

            return _depends(alone, scope="function")
        depends = _depends(session)

        async def in_session(session: Any = depends) -> AsyncGenerator[DurableBackgroundTasks]:
            async with DurableBackgroundTasks(self.client, session) as tasks:
                yield tasks

        return _depends(in_session, scope="function")

    def router(
        self, job_type: AnyJobType, *, prefix: str | None = None, errors: bool = False, tags: Sequence[str] = ()
    ) -> APIRouter:
        """A router for FastAPI: POST starts a chain of the type, GET reads or follows it, DELETE cancels it.

        The prefix is the name of the type. `errors` shows the errors of handlers to callers.
        """
        with _needs_fastapi():
            from holdfast.contrib.fastapi.router import api_router
        return api_router(lambda: self.client, job_type, prefix=prefix, errors=errors, tags=tags)

    def routes(self, job_type: AnyJobType, *, prefix: str | None = None, errors: bool = False) -> list[Route]:
        """The same as routes of Starlette."""
        with _needs_fastapi():
            from holdfast.contrib.fastapi.router import starlette_routes
        return starlette_routes(lambda: self.client, job_type, prefix=prefix, errors=errors)

    def mounted(self, job_type: AnyJobType, *, prefix: str | None = None, errors: bool = False) -> Mounted:
        """The same as an ASGI application, for frameworks that can mount one, such as Litestar.

        `prefix` is the whole path, including that of the mount.
        """
        with _needs_fastapi():
            from holdfast.contrib.fastapi.router import Mounted
        return Mounted(self.routes(job_type, prefix=prefix, errors=errors))


def _depends(dependency: Any, **options: Any) -> Any:
    with _needs_fastapi():
        from fastapi import Depends
        from fastapi.params import Depends as Dependency
    return dependency if isinstance(dependency, Dependency) else Depends(dependency, **options)


class _needs_fastapi:  # noqa: N801 - used as a function
    """Reports a missing framework as the extra to install."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModuleNotFoundError) and error.name in ("fastapi", "starlette"):
            raise MissingExtra("holdfast.contrib.fastapi", "fastapi") from error
