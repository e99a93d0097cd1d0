"""Creates wake-ups from their address. A SQL store can use them instead of its own."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from holdfast.engine.wakeups import ConnectedWakeups
from holdfast.stores.extras import needing_extra

_REDIS = ("redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
LOADERS: dict[str, str] = {
    **dict.fromkeys(_REDIS, "holdfast.stores.redis.wakeups.wakeups:RedisWakeups.at"),
    **dict.fromkeys(("nats", "nats+tls"), "holdfast.stores.nats.wakeups:NatsWakeups.at"),
}
"""Scheme to the function that creates the wake-ups. It is imported at its first use, because it may import a driver."""

GROUP = "holdfast.wakeups"
"""The entry points of packages that add a scheme. The object is called with the address."""


def wakeups_at(address: str) -> ConnectedWakeups:
    """The wake-ups of an address, not yet connected.

    The text of a ValueError never contains the address, because it may contain a password.
    """
    scheme, separator, _ = address.partition("://")
    if not separator:
        raise ValueError(f"the address of wake-ups begins with one of {_schemes()}")
    if scheme in LOADERS:
        made = _load(LOADERS[scheme])(address)
    else:
        plugged = entry_points(group=GROUP, name=scheme)
        if not plugged:
            raise ValueError(f"there are no wake-ups for {scheme}://; their address begins with one of {_schemes()}")
        made = next(iter(plugged)).load()(address)
    if not isinstance(made, ConnectedWakeups):
        raise TypeError(
            f"the factory of {scheme}:// returned a {type(made).__name__}, which has not the methods of wake-ups"
        )
    return made


def _load(where: str) -> Any:
    module, _, path = where.partition(":")
    with needing_extra(module):
        found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _schemes() -> str:
    plugged = {each.name for each in entry_points(group=GROUP)}
    return ", ".join(f"{scheme}://" for scheme in sorted(plugged | set(LOADERS)))
