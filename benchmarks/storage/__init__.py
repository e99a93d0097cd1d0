"""Fresh storage for every run, private to the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from benchmarks.storage.memory import memory_storage
from benchmarks.storage.postgres import postgres_storage
from benchmarks.storage.redis import redis_storage
from benchmarks.storage.sqlite import sqlite_storage
from benchmarks.storage.storage import Storage

STORES: dict[str, Callable[[], AbstractContextManager[Storage]]] = {
    "postgres": postgres_storage,
    "redis": redis_storage,
    "sqlite": sqlite_storage,
    "memory": memory_storage,
}
