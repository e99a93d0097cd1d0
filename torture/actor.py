"""Who a producer is: calls the library, and notes each call with what it came to."""

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
    """Performs operations and notes each call with what it came to."""

    def __init__(self, client: Client, history: History, rng: random.Random, settings: Settings) -> None:
        self.client = client
        self.history = history
        self.random = rng
        self.settings = settings
        self.recent: deque[str] = deque(maxlen=60)
        self.business = Business(settings.url)
        self.odd = payloads.in_turn(rng, payloads.ODD)
        self.deaf: Client | None = None
        """A client that no wake-up reaches."""

    @asynccontextmanager
    async def noting(self, op: str, **arguments: Any) -> AsyncGenerator[dict[str, Any]]:
        """Note a call. What the body puts into the facts is noted with its answer; no error of the library escapes."""
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
        """Start chains under ids of our own, so that we know what to look for when nobody answers."""
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
        """Wait for a chain, and note how it is said to have ended. One in four hears no wake-up."""
        deaf = self.deaf if self.random.random() < 0.25 else None
        async with self.noting("wait", chain=chain, timeout=timeout, deaf=deaf is not None) as facts:
            try:
                output = await (deaf or self.client).wait(chain, timeout=timeout)
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
        """A chain that was started lately."""
        return self.random.choice(self.recent) if self.recent else None
