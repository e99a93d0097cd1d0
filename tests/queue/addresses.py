"""Stores that several processes can share, by address; each call gives an empty place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/jobs.db"


def postgres(folder: Path) -> str:
    return fresh_address()


def redis(folder: Path) -> str:
    return shared_redis().address()


ADDRESSES: dict[str, Callable[[Path], str]] = {"sqlite": sqlite, "postgres": postgres, "redis": redis}
