"""The Flask extension: `Holdfast(app, jobs)`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

from flask import Blueprint, Flask, current_app

from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.contrib.flask.app_context import AppContext
from holdfast.contrib.flask.blueprint import job_blueprint
from holdfast.contrib.flask.commands import holdfast_command
from holdfast.contrib.flask.inline_worker import running_worker
from holdfast.contrib.starter import BlockingTransaction, SyncStarter
from holdfast.errors import HoldfastError
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.worker import Worker

EXTENSION = "holdfast"
STORE = "HOLDFAST_STORE"


class Holdfast:
    """Holdfast in a Flask application: ``Holdfast(app, jobs)``, or ``Holdfast(jobs=jobs)`` and `init_app` later.

    The setting HOLDFAST_STORE of the application is the address of the store; `store` is its default. With
    `migrate=True` the client creates the tables when it is first used. Handlers run in the context of the application.
    """

    def __init__(
        self, app: Flask | None = None, jobs: Jobs | None = None, *, store: str | None = None, migrate: bool = False
    ) -> None:
        if jobs is None:
            raise TypeError("which job types? Holdfast(app, jobs)")
        self.jobs = jobs
        self._store = store
        self._migrate = migrate
        self._lock = threading.Lock()
        self._clients: dict[str, SyncClient] = {}
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Add the extension and the commands `flask holdfast ...` to an application."""
        if self._store is not None:
            _settings(app).setdefault(STORE, self._store)
        app.extensions[EXTENSION] = self
        app.cli.add_command(holdfast_command)
        app.before_request(self._open_file)

    @property
    def client(self) -> SyncClient:
        """The client of the current application, opened at its first use. Threads share it."""
        address = self.address(current_flask())
        with self._lock:
            client = self._clients.get(address)
            if client is None:
                client = SyncClient(address, self.jobs, migrate=self._migrate)
                client.open()
                self._clients[address] = client
            return client

    def _open_file(self) -> None:
        """Open a SQLite file before the request writes to it: opening it needs the write lock of the file."""
        app = current_flask()
        if (_settings(app).get(STORE) or "").startswith("sqlite:"):
            with suppress(HoldfastError):  # a request that needs the client gets the error
                _ = self.client

    def starter(self, session: BlockingTransaction) -> SyncStarter:
        """Starts chains in the transaction of this session, such as `db.session` of Flask-SQLAlchemy."""
        return SyncStarter(self.client, session)

    def blueprint(self, job_type: AnyJobType, *, prefix: str | None = None, errors: bool = False) -> Blueprint:
        """Routes for a job type: POST starts a chain, GET reads or follows it, DELETE cancels it.

        The prefix is the name of the type. `errors` shows the errors of handlers to callers.
        """
        return job_blueprint(lambda: self.client, job_type, prefix=prefix, errors=errors)

    def worker_jobs(self, app: Flask) -> Jobs:
        """The registry for workers of this application: each handler runs in its application context."""
        outer = Jobs(self.jobs.name, plugins=[AppContext(app)], payload_limit=self.jobs.payload_limit)
        outer.include(self.jobs)
        return outer

    @contextmanager
    def running(self, app: Flask, *, worker: bool | Callable[[Client], Worker] = False) -> Generator[SyncClient]:
        """Open the client, and with `worker` run jobs in a thread. The end of the block waits for them, then closes.

        For a server that runs in this process: ``with holdfast.running(app, worker=True): app.run()``.
        """
        with app.app_context():
            client = self.client
        try:
            if worker:
                with running_worker(self.address(app), self.worker_jobs(app), None if worker is True else worker):
                    yield client
            else:
                yield client
        finally:
            self.close()

    def close(self) -> None:
        """Close the clients. The next use opens them again."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def address(self, app: Flask) -> str:
        """The address of the store of an application."""
        found = _settings(app).get(STORE)
        if not found:
            raise RuntimeError(f'which store? Set app.config["{STORE}"], for example to "sqlite:///jobs.db"')
        return found


def extension_of(app: Flask) -> Holdfast:
    """The extension of an application. RuntimeError if it has none."""
    found = app.extensions.get(EXTENSION)
    if not isinstance(found, Holdfast):
        raise RuntimeError("this application has no Holdfast extension: Holdfast(app, jobs)")
    return found


def current_flask() -> Flask:
    """The application of the current context, and not its proxy."""
    proxy: Any = current_app
    return cast("Flask", proxy._get_current_object())


def _settings(app: Flask) -> dict[str, str | None]:
    return cast("dict[str, str | None]", app.config)
