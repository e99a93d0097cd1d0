"""The client of a producer: it calls the library and records each call with its outcome."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from holdfast import (
    Bound,
    Chain,
    ChainCancelled,
    ChainFailed,
    ChainNotFound,
    Client,
    HoldfastError,
    StoreUnavailable,
    WaitTimeout,
)
from holdfast.core.ids import new_id
from torture import payloads
from torture.business import Business
from torture.history import History, Outcome
from torture.settings import Settings


class Actor:
    """Performs operations and records each call with its outcome."""

    def __init__(self, client: Client, history: History, rng: random.Random, settings: Settings) -> None:
        self.client = client
        self.history = history
        self.random = rng
        self.settings = settings
        self.recent: deque[str] = deque(maxlen=60)
        self.business = Business(settings.url)
        self.odd = payloads.in_turn(rng, payloads.ODD)
        self.polling_client: Client | None = None
        """A client that receives no wake-ups."""

    @asynccontextmanager
    async def noting(self, op: str, **arguments: Any) -> AsyncGenerator[dict[str, Any]]:
        """Record a call. The facts that the body sets are recorded with its outcome. Errors of the library end here."""
        call = self.history.invoke(op, **arguments)
        facts: dict[str, Any] = {}
        outcome: Outcome = "info"
        try:
            yield facts
            outcome = "ok"
        except StoreUnavailable as error:
            facts["error"] = str(error)
        except HoldfastError as error:
            outcome, facts["error"] = "fail", type(error).__name__
        finally:
            self.history.answer(call, outcome, **facts)

    async def start(self, bounds: list[Bound[Any]], **noted: Any) -> list[Chain[Any]]:
        """Start chains with ids that this process chooses: a start without an answer can be looked up later."""
        ids = [new_id() for _ in bounds]
        named = [bound.options(id=id) for bound, id in zip(bounds, ids, strict=True)]
        chains: list[Chain[Any]] = []
        async with self.noting("start", ids=ids, type=bounds[0].type.name, **noted) as facts:
            chains = await self.client.start_many(named)
            facts["found"] = [chain.id for chain in chains]
            facts["deduplicated"] = [chain.deduplicated for chain in chains]
        self.recent += [chain.id for chain in chains]
        return chains

    async def wait(self, chain: str, timeout: float) -> Any:
        """Wait for a chain and record the status that the wait returns. A quarter of the waits get no wake-ups."""
        polling = self.polling_client if self.random.random() < 0.25 else None
        async with self.noting("wait", chain=chain, timeout=timeout, without_wakeups=polling is not None) as facts:
            try:
                output = await (polling or self.client).wait(chain, timeout=timeout)
                facts["status"] = "completed"
                facts["output"] = output if isinstance(output, str) else None
                return output
            except ChainFailed:
                facts["status"] = "failed"
            except ChainCancelled:
                facts["status"] = "cancelled"
            except ChainNotFound:
                facts["status"] = "gone"
            except WaitTimeout:
                facts["status"] = "timeout"
        return None

    def chosen(self) -> str | None:
        """A chain that was started recently."""
        return self.random.choice(self.recent) if self.recent else None
