"""A TLS proxy in front of a server, which may have been built without TLS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).parent
AUTHORITY = HERE / "authority.pem"
LOCALHOST = HERE / "localhost.pem"
"""A certificate for localhost and 127.0.0.1 with its key, only for these tests."""


@contextmanager
def tls_to(server: Path, *, ask_for_certificate: bool = False) -> Generator[int]:
    """A port that accepts TLS and forwards to a Unix socket, until the end of the block."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(LOCALHOST)
    if ask_for_certificate:
        context.load_verify_locations(AUTHORITY)
        context.verify_mode = ssl.CERT_REQUIRED
    proxy = _TlsProxy(server, context)
    thread = threading.Thread(target=asyncio.run, args=(proxy.run(),), daemon=True)
    thread.start()
    try:
        yield proxy.port.result(timeout=60)
    finally:
        proxy.stop()
        thread.join()


class _TlsProxy:
    def __init__(self, server: Path, context: ssl.SSLContext) -> None:
        self.port: Future[int] = Future()
        self._server = server
        self._context = context

    async def run(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        async with listening:
            self.port.set_result(listening.sockets[0].getsockname()[1])
            await self._stopped.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._server))
        with suppress(asyncio.CancelledError):  # the test is over
            await asyncio.gather(_forward(reader, inner_writer), _forward(inner_reader, writer))


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError, ssl.SSLError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()
