"""Commands that only read do not create a SQLite file."""

from __future__ import annotations

from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite.address import parse


def check_file(address: str) -> None:
    """Refuse a SQLite file that does not exist: a misspelt name would otherwise show an empty store."""
    if not address.startswith("sqlite:"):
        return
    place = parse(address)
    if not place.path.exists():
        raise StoreUnavailable(place.name, "there is no such file; `holdfast migrate`, `start` or a worker makes it")
