"""Harnesses: a store with its server, its audit, its ledger, and the faults that can be injected into it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from torture.harnesses.harness import Harness


def _sqlite(folder: Path, durability: str) -> AbstractContextManager[Harness]:
    from torture.harnesses.sqlite import sqlite_harness

    return sqlite_harness(folder, durability)


def _postgres(folder: Path, durability: str) -> AbstractContextManager[Harness]:
    from torture.harnesses.postgres import postgres_harness

    return postgres_harness(folder, durability)


def _redis(folder: Path, durability: str) -> AbstractContextManager[Harness]:
    from torture.harnesses.redis import redis_harness

    return redis_harness(folder, durability)


HARNESSES: dict[str, Callable[[Path, str], AbstractContextManager[Harness]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "redis": _redis,
}

__all__ = ["HARNESSES", "Harness"]
