"""Memory: empty in each new process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from benchmarks.contender import Place
from benchmarks.storage.storage import Storage


class MemoryStorage:
    facts: dict[str, str] = {}  # noqa: RUF012

    @contextmanager
    def fresh(self) -> Generator[Place]:
        yield Place("memory", "memory://")


@contextmanager
def memory_storage() -> Generator[Storage]:
    yield MemoryStorage()
