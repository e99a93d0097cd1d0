"""Grounds: a store with its server, its audit, its ledger, and the harm that can be done to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from torture.grounds.ground import Ground


def _sqlite(folder: Path, durability: str) -> AbstractContextManager[Ground]:
    from torture.grounds.sqlite import sqlite_ground

    return sqlite_ground(folder, durability)


def _postgres(folder: Path, durability: str) -> AbstractContextManager[Ground]:
    from torture.grounds.postgres import postgres_ground

    return postgres_ground(folder, durability)


def _redis(folder: Path, durability: str) -> AbstractContextManager[Ground]:
    from torture.grounds.redis import redis_ground

    return redis_ground(folder, durability)


GROUNDS: dict[str, Callable[[Path, str], AbstractContextManager[Ground]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "redis": _redis,
}

__all__ = ["GROUNDS", "Ground"]
