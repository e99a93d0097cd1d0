"""A SQLite store is a file, and looking for a file does not make one."""

from __future__ import annotations

from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite.address import parse


def check_file(address: str) -> None:
    """Refuse a SQLite file that is not there: a slip in its name would otherwise be answered by an empty store."""
    if not address.startswith("sqlite:"):
        return
    place = parse(address)
    if not place.path.exists():
        raise StoreUnavailable(place.name, "there is no such file; `holdfast migrate`, `start` or a worker makes it")
