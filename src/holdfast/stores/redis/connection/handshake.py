"""The first commands on a new connection, and the check of their replies. Shared by both kinds of connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
