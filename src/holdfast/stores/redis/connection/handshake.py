"""What both kinds of connection say and check."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import hiredis

from holdfast.stores.redis.address import Address
from holdfast.stores.redis.connection.conversation import Command, Cut

# Its own types are half unknown.
_driver: Any = hiredis
packed: Callable[[Command], bytes] = _driver.pack_command
"""A command as the protocol writes it."""


def greeting(address: Address) -> list[Command]:
    """What is said first on every connection."""
    login = address.login
    commands: list[Command] = []
    if "password" in login:
        commands.append(("AUTH", *([login["username"]] if "username" in login else []), login["password"]))
    if login["db"]:
        commands.append(("SELECT", str(login["db"])))
    return [*commands, ("CLIENT", "SETNAME", "holdfast")]


def check_greeting(replies: Sequence[Any]) -> None:
    """Raise what the server holds against us."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise Cut(str(reply)) from reply


def tls_context(options: dict[str, Any]) -> ssl.SSLContext:
    """TLS as the address asks for it: the server's certificate is checked unless it says otherwise."""
    return _tls_context(tuple(sorted(options.items())))


# Reading the certificates takes longer than a handshake.
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
