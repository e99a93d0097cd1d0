"""A transaction that is rolled back, and what a client and its observers did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from holdfast import Client, SyncClient
from tests.conformance.client.application import Application
from tests.conformance.client.async_adapters import ClientAdapter, Mode
from tests.conformance.client.harness import ClientHarness


class Undone(Exception):
    """Ends a transaction or a savepoint without a commit."""


async def undo(application: Application, body: Callable[[Any], Awaitable[Any]]) -> None:
    """Run this in a transaction that is rolled back."""
    with suppress(Undone):
        async with application.transaction() as tx:
            await body(tx)
            raise Undone


def observed(harness: ClientHarness) -> list[tuple[str, str | None]]:
    return [(event.kind, event.chain_id or event.job_id) for event in harness.reported]


def other_client(harness: ClientHarness, **options: Any) -> ClientAdapter:
    kind = Client if harness.mode is Mode.ASYNC else SyncClient
    return ClientAdapter(kind(harness.store, harness.jobs, **options), harness.threads)
