"""Whether a shard answers. While it does not, operations that concern all shards leave it out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from holdfast.core.retry import Retry
from holdfast.engine.observers import LogThrottle, log
from holdfast.errors import HoldfastError, StoreUnavailable

_RECHECKS = Retry(initial=0.2, multiplier=2, maximum=5, jitter=0.2, max_attempts=None)


class Health:
    """The state of one shard, by the last operation that it performed or failed to perform."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._recheck_at = 0.0
        self._log_throttle = LogThrottle()
        self._probe: asyncio.Task[None] | None = None

    @property
    def up(self) -> bool:
        return not self._failures

    @property
    def recheck_is_due(self) -> bool:
        """Whether a shard that is down is to be asked again."""
        return monotonic() >= self._recheck_at

    def answered(self) -> None:
        if self._failures:
            self._failures = 0
            log.info("shard %s answers again", self._name)

    def failed(self, error: StoreUnavailable) -> None:
        self._failures += 1
        self._recheck_at = monotonic() + _RECHECKS.delay(min(self._failures, 20))
        if self._log_throttle.should_log(type(error)):
            log.warning("shard %s is left out until it answers: %s", self._name, error)

    def probe(self, ask: Callable[[], Awaitable[object]]) -> None:
        """Ask a shard that is down in a task of its own, so that the caller does not wait for it."""
        if self._probe is None and self.recheck_is_due:
            self._probe = asyncio.get_running_loop().create_task(self._ask(ask), name=f"holdfast-shard-{self._name}")

    def close(self) -> None:
        """End the task of a probe. Called on its event loop."""
        if self._probe is not None:
            self._probe.cancel()

    async def _ask(self, ask: Callable[[], Awaitable[object]]) -> None:
        try:
            await ask()
        except HoldfastError as error:
            log.debug("shard %s does not answer: %s", self._name, error)
        finally:
            self._probe = None
