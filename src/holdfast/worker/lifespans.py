"""The lifespans of a registry, of those that it includes, and of their plugins, in one worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.registry.extensions import methods_of
from holdfast.registry.jobs import Jobs

if TYPE_CHECKING:
    from holdfast.worker.worker import Worker


class Lifespans:
    """Enters each lifespan once, in the task of the worker: plugins first, then registries, outermost first."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._states: dict[int, Any] = {}
        """The values that the lifespans of registries yielded, by the `id()` of the registry."""
        self._entering: asyncio.Task[Any] | None = None
        self._aborted = False
        self._entered = asyncio.Event()

    @asynccontextmanager
    async def entered(self, worker: Worker) -> AsyncGenerator[bool]:
        """Enter all lifespans, and exit them in reverse order. Yields False if the worker was stopped before that."""
        async with AsyncExitStack() as stack:
            self._entering = asyncio.current_task()
            try:
                for lifespan in methods_of(self._jobs.registries, "lifespan"):
                    await stack.enter_async_context(lifespan(worker))
                for registry in self._jobs.registries:
                    if registry.lifespan is not None:
                        self._states[id(registry)] = await stack.enter_async_context(registry.lifespan(worker))
            except asyncio.CancelledError:
                if not self._aborted or self._entering is None:
                    raise
                self._entering.uncancel()
            finally:
                self._entering = None
            if not self._aborted:
                self._entered.set()
            yield not self._aborted

    async def wait_until_entered(self, work: asyncio.Task[None]) -> None:
        """Wait for the entry of all lifespans. Raises the error of the task that enters them."""
        if not self._exist():
            return
        waiting = asyncio.create_task(self._entered.wait())
        try:
            await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if work.done():
            work.result()

    def _exist(self) -> bool:
        registries = self._jobs.registries
        return any(each.lifespan is not None for each in registries) or bool(methods_of(registries, "lifespan"))

    def abort_entry(self) -> None:
        """Cancel the entry, if it has not ended."""
        if self._entering is not None and not self._aborted:
            self._aborted = True
            self._entering.cancel()

    def state(self, type: str) -> Any:
        """The value that the lifespan of the innermost registry of a type yielded; None if there is no lifespan."""
        for registry in reversed(self._jobs.scope(type)) if self._states else ():
            if id(registry) in self._states:
                return self._states[id(registry)]
        return None
