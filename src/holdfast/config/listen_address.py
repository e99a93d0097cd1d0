"""The address that the health endpoint listens on."""

from __future__ import annotations


def parse_listen(text: str) -> tuple[str, int]:
    """A host and a port, from `HOST:PORT`, `[IPV6]:PORT`, or `PORT` alone for loopback."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:8790")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)
