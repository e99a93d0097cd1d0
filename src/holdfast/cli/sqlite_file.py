"""Commands that only read do not create a SQLite file."""

from __future__ import annotations

from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.address import each_address
from holdfast.stores.sqlite.address import parse


def check_file(address: str) -> None:
    """Refuse a SQLite file that does not exist: a misspelt name would otherwise show an empty store."""
    for each in each_address(address):
        if each.startswith("sqlite:") and not (place := parse(each)).path.exists():
            detail = "there is no such file; `holdfast migrate`, `start` or a worker creates it"
            raise StoreUnavailable(place.name, detail)
