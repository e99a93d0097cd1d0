"""The health endpoint: a small HTTP server for orchestrators, scrapers and autoscalers.

`/healthz` answers whether the main loop of the supervisor or worker runs, `/readyz` whether its workers claim jobs,
`/backlog` what is due, in JSON, and `/metrics` the same for Prometheus. It only reads. It listens on loopback by
default.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from http import HTTPStatus

from holdfast.supervisor.exporting import Exporter, Exporting
from holdfast.supervisor.metrics import Supervised, document, metrics

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

TIMEOUT = 5.0
"""Seconds from the connection to the end of the answer."""
MOST_CONNECTIONS = 64
"""Above this number the oldest connections are closed: a prompt request takes milliseconds, so these are not prompt."""
GRACE = 0.25
"""Seconds that a connection stays open above that number, so that a burst does not close a request on its way."""
HARD_LIMIT = 512
"""Above this number the oldest connection is closed at once, so that a burst cannot use up the file descriptors."""

Answer = tuple[HTTPStatus, str, str]


class Endpoint:
    """Answers GET and HEAD requests, one per connection."""

    def __init__(self, subject: Supervised, listen: tuple[str, int], exporter: Exporter | None = None) -> None:
        self._subject = subject
        self._exporting = None if exporter is None else Exporting(exporter, subject.backlog)
        self._host, self._port = listen
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, None] = {}
        """The open connections, oldest first."""

    @property
    def address(self) -> tuple[str, int]:
        """The address it listens on. Port 0 in the settings gives a free port."""
        assert self._server is not None, "the endpoint is not open"
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def open(self) -> None:
        """Listen. Raises OSError if the address is in use."""
        self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=8192)

    async def close(self) -> None:
        """Stop listening, and close the open connections."""
        if self._server is not None:
            self._server.close()
        self._close_oldest(down_to=0)
        if self._exporting is not None:
            await self._exporting.close()

    async def answer(self, path: str) -> Answer:
        """The answer for a path."""
        if path in ("/readyz", "/backlog", "/metrics"):
            await self._subject.refresh()
        match path:
            case "/healthz":
                return _answer(self._subject.alive, "ok", otherwise="stuck")
            case "/readyz":
                return _answer(self._subject.ready, "ready", otherwise="not ready")
            case "/backlog":
                found = document(self._subject)
                status = HTTPStatus.OK if found["known"] else HTTPStatus.SERVICE_UNAVAILABLE
                return status, JSON, json.dumps(found)
            case "/metrics":
                return HTTPStatus.OK, PROMETHEUS, await self._metrics()
            case _:
                return HTTPStatus.NOT_FOUND, TEXT, "there are /healthz, /readyz, /backlog and /metrics\n"

    async def _metrics(self) -> str:
        if self._exporting is None:
            return metrics(self._subject)
        more = await self._exporting.read()
        return metrics(self._subject, without=more.names) + more.text

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = None
        if len(self._open) > MOST_CONNECTIONS:
            asyncio.get_running_loop().call_later(GRACE, self._close_oldest)
        self._close_oldest(down_to=HARD_LIMIT)
        try:
            # A peer that disconnects, is too slow, or sends no HTTP gets no answer.
            with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(TIMEOUT):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._response(head))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    def _close_oldest(self, down_to: int = MOST_CONNECTIONS) -> None:
        while len(self._open) > down_to:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()

    async def _response(self, head: bytes) -> bytes:
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        if method in ("GET", "HEAD"):
            status, kind, body = await self.answer(target.partition("?")[0])
        else:
            status, kind, body = HTTPStatus.METHOD_NOT_ALLOWED, TEXT, "GET and HEAD only\n"
        content = body.encode()
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}", f"Content-Type: {kind}", f"Content-Length: {len(content)}",
            "Cache-Control: no-store", "Connection: close",
        ]  # fmt: skip
        return "\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else content)


def _answer(good: bool, text: str, *, otherwise: str) -> Answer:
    return (HTTPStatus.OK, TEXT, f"{text}\n") if good else (HTTPStatus.SERVICE_UNAVAILABLE, TEXT, f"{otherwise}\n")
