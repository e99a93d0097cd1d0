"""The first commands on a new connection, the check of their replies, and TLS. Shared by both kinds of connection."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import hiredis

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection.conversation import Command, ConnectionLost

# Any: the type hints of hiredis are incomplete.
_driver: Any = hiredis
pack_command: Callable[[Command], bytes] = _driver.pack_command
"""A command in the wire format of the Redis protocol."""


def login_commands(address: Address) -> list[Command]:
    """The commands that are sent first on every connection."""
    login = address.login
    commands: list[Command] = []
    if "password" in login:
        commands.append(("AUTH", *([login["username"]] if "username" in login else []), login["password"]))
    if login["db"]:
        commands.append(("SELECT", str(login["db"])))
    commands.append(("CLIENT", "SETNAME", "holdfast"))
    if address.service is not None:
        # INFO and not ROLE: the ACL in the Redis guide permits INFO.
        commands.append(("INFO", "replication"))
    return commands


def check_login(address: Address, node: Node, replies: Sequence[Any]) -> None:
    """Raise ConnectionLost if the server rejected the login, or is not the master that the sentinels reported."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise ConnectionLost(str(reply)) from reply
    if address.service is not None and b"role:master" not in replies[-1]:
        raise ConnectionLost(f"{node[0]}:{node[1]} is not the master of {address.service!r} any more")


def tls_context(options: dict[str, Any]) -> ssl.SSLContext:
    """The TLS settings of the address. The server's certificate is verified unless the address disables that."""
    return _tls_context(tuple(sorted(options.items())))


# Cached: reading the certificates takes longer than a handshake.
@cache
def _tls_context(given: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    options = dict(given)
    context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    if options.get("ssl_cert_reqs") == "none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl_certfile"):
        context.load_cert_chain(certificate, options.get("ssl_keyfile"))
    return context
