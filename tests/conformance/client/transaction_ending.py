"""Ways to end a transaction that Holdfast lends, and the outcome of the attempt."""

from __future__ import annotations

from typing import Any

from holdfast.core.job import Job
from tests.conformance.client.application import run
from tests.conformance.client.harness import ClientHarness

REJECTED = "is not allowed here"

METHODS = ["commit", "rollback", "close"]


async def end(tx: Any, call: str) -> None:
    """Try to end the transaction, as an application may do."""
    if call in METHODS:
        await run(getattr(tx, call)())
    elif call == "with" and hasattr(tx, "__aenter__"):
        async with tx:
            pass
    elif call == "with":
        with tx:
            pass
    else:
        await run(tx.execute(call))


async def outcome(harness: ClientHarness, chain: Any) -> tuple[Job, Any]:
    """The job after its first attempt, and the output after the second."""
    await harness.drain()
    first = await harness.now(chain)
    await harness.client.run_now(chain)
    await harness.drain()
    return first, await harness.client.wait(chain, timeout=60)
