"""Runs the jobs that a test started: on the connection of the test, and inside its transaction.

Works in TestCase, TransactionTestCase and pytest-django, on PostgreSQL and SQLite, also with a database in memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any

from asgiref.sync import async_to_sync
from django.db import connections
from django.test import TestCase

from holdfast.client.client import Client
from holdfast.client.references import Names
from holdfast.contrib.django.clients import client
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.discovery import discover
from holdfast.contrib.django.drained_store import DrainedStore, InThreadOfTest, serve_while_waiting
from holdfast.contrib.django.plugin import in_test
from holdfast.core.clock import Clock
from holdfast.core.job import Job
from holdfast.core.retry import Retry, Seconds
from holdfast.engine.events import Event
from holdfast.testing.drain import drain as drain_client
from holdfast.worker import Middleware
from holdfast.worker.threads import wait_on_loop


def drain(
    *,
    advance: bool = False,
    until: datetime | None = None,
    clock: Clock | None = None,
    types: Names | None = None,
    retry: Retry | None = None,
    middlewares: Iterable[Middleware] = (),
    limit: int = 1000,
    timeout: Seconds = 60,
) -> list[Event]:
    """Run due jobs, and the jobs that they start, until none is due. Returns the ends of the attempts, in order.

    Handlers run one after the other in the thread of the test, on its connection. In a TestCase, callbacks of
    `transaction.on_commit` that handlers register run when no more job is due; then come the jobs that these start.
    With `advance` or `until`, `clock` is a ManualClock that is moved, as in `holdfast.testing.drain`.
    """
    jobs = discover()
    alias = configuration().database
    shared = client().store if alias is None else None

    async def run() -> list[Event]:
        in_test.set(True)
        wait_on_loop.set(serve_while_waiting)
        store = shared or DrainedStore(alias or "", schema=configuration().schema, clock=clock)
        return await drain_client(
            Client(store, jobs), advance=advance, until=until, types=types, retry=retry, middlewares=middlewares,
            limit=limit, timeout=timeout, threads=InThreadOfTest("holdfast-test"),
        )  # fmt: skip

    _stop_compiling(alias)
    ran: list[Event] = []
    while True:
        with _callbacks_run(alias) as callbacks:
            ended = async_to_sync(run)()
        ran += ended
        if not ended or not callbacks:  # the callbacks may have started more jobs
            return ran


@contextmanager
def capture_jobs(*, execute: bool = False) -> Generator[list[Job]]:
    """The jobs that the block starts, as a list that is filled at its end. With `execute`, they are run then.

    The counterpart of `TestCase.captureOnCommitCallbacks`.
    """
    from holdfast.contrib.django.models import Job as Row

    alias = configuration().database
    if alias is None:
        raise ValueError("capture_jobs reads the database of HOLDFAST['DATABASE']; with STORE use drain()")
    before = Row.objects.using(alias).order_by("-seq").values_list("seq", flat=True).first() or 0
    captured: list[Job] = []
    yield captured
    if execute:
        drain()
    rows = Row.objects.using(alias).filter(seq__gt=before).order_by("seq").values_list("id", flat=True)
    captured.extend(job for id in rows if (job := client().get_job(id)) is not None)


def _stop_compiling(alias: str | None) -> None:
    """Turn the JIT of PostgreSQL off on the connection of the test, as the store does on its own connections.

    The tables of a test have no statistics. PostgreSQL then compiles each claim, which takes longer than to run it.
    """
    if alias is not None and connections[alias].vendor == "postgresql":
        with connections[alias].cursor() as logged:
            connections[alias].make_cursor(logged.cursor).execute("set jit = off")


def _callbacks_run(alias: str | None) -> Any:
    """In a TestCase nothing commits: run the callbacks that were registered in the block at its end."""
    if alias is None or not connections[alias].in_atomic_block:
        return nullcontext()
    return TestCase.captureOnCommitCallbacks(using=alias, execute=True)
