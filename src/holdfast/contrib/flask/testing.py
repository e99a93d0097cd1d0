"""Tests of Flask applications: run the jobs that a test started."""

from __future__ import annotations

from datetime import datetime

from flask import Flask

from holdfast.client.sync_client import SyncClient
from holdfast.contrib.flask.extension import extension_of
from holdfast.engine.events import Event
from holdfast.testing.drain import drain_sync


def drain(
    app: Flask, *, advance: bool = False, until: datetime | None = None, concurrency: int = 1, limit: int = 1000
) -> list[Event]:
    """Run due jobs, and the jobs that they start, until none is due. Handlers run in the application context.

    Returns the ends of the attempts. The options are those of `holdfast.testing.drain`.
    """
    extension = extension_of(app)
    with app.app_context():
        store = extension.client.store
    client = SyncClient(store, extension.worker_jobs(app))
    return drain_sync(client, advance=advance, until=until, concurrency=concurrency, limit=limit)
