"""Several addresses in one text, such as `eu=postgresql://a/jobs us=postgresql://b/jobs`, or by name in a mapping."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from holdfast.stores.sharded.routing import check_name

T = TypeVar("T")

_NAMED = re.compile(r"([^\s=:/?#@]+)=([A-Za-z][A-Za-z0-9+.-]*://\S*)")


def is_sharded(address: str) -> bool:
    """Whether a text names the addresses of shards."""
    return _NAMED.match(address.strip()) is not None


def read_shards(address: str) -> dict[str, str]:
    """The addresses by the names of the shards. The text of a ValueError contains no address."""
    found: dict[str, str] = {}
    for part in address.split():
        match = _NAMED.fullmatch(part)
        if match is None:
            raise ValueError("several stores are given as NAME=ADDRESS, with spaces between them")
        name, value = check_name(match[1]), match[2]
        if name in found:
            raise ValueError(f"two stores are called {name!r}")
        found[name] = value
    return found


def write_shards(stores: Mapping[str, str]) -> str:
    """The addresses of shards in one text."""
    for name, address in stores.items():
        check_name(name)
        if any(character.isspace() for character in address):
            raise ValueError(f"the address of the store {name!r} contains a space: write %20")
    return " ".join(f"{name}={address}" for name, address in stores.items())


def map_addresses(address: str, change: Callable[[str], str]) -> str:
    """The text with each address changed. A single address is changed as it is."""
    if not is_sharded(address):
        return change(address)
    return write_shards({name: change(each) for name, each in read_shards(address).items()})


def each_address(address: Any) -> list[str]:
    """The addresses in a text, or the only one."""
    return [*read_shards(address).values()] if is_sharded(address) else [address]
