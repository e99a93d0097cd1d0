"""The HTTP server of the dashboard: uvicorn, stopped by SIGTERM and SIGINT."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from holdfast.worker.os_signals import on_signals

GRACE = 2
"""Seconds that open connections have to end."""


class DashboardServer(uvicorn.Server):
    """A server whose signals are handled by this module: uvicorn would raise them again at its end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._serving: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def stop(self) -> None:
        """Accept no more connections, and end the open ones."""
        self.force_exit = self.should_exit  # the second call does not wait
        self.should_exit = True
        if isinstance(self.config.app, Starlette):
            self.config.app.state.end_live_updates()

    def begin(self, listening: socket.socket) -> None:
        self._serving = asyncio.create_task(self.serve([listening]), name="holdfast-dashboard")

    async def ended(self) -> None:
        """Wait until the server has stopped."""
        if self._serving is not None:
            await self._serving


@asynccontextmanager
async def serve(app: ASGIApp, listening: socket.socket, *, root_path: str = "") -> AsyncGenerator[DashboardServer]:
    """Serve an application until a signal, or until the end of the block."""
    config = uvicorn.Config(
        app, root_path=root_path, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, lifespan="on",
        server_header=False,
    )  # fmt: skip
    server = DashboardServer(config)
    with on_signals(server.stop):
        server.begin(listening)
        try:
            yield server
        finally:
            server.stop()
            await server.ended()
