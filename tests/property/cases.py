"""State machines that compare a store with memory, and their test cases."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from holdfast.engine.store import Store
from holdfast.stores.memory import MemoryStore
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.redis import RedisStore
from holdfast.stores.sqlite import SqliteStore
from tests.property.pair import Pair
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis


class StoreMachine(RuleBasedStateMachine):
    """Performs each operation on memory and on a store, and compares the answers."""

    @staticmethod
    def make(folder: Path) -> Store:
        """The tested store."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.pair = Pair(MemoryStore(), self.make(Path(self.folder.name)))

    def teardown(self) -> None:
        self.pair.close()
        self.folder.cleanup()


class OnMemory:
    """The machine itself: memory agrees with memory."""

    @staticmethod
    def make(folder: Path) -> Store:
        return MemoryStore()


class OnSqlite:
    @staticmethod
    def make(folder: Path) -> Store:
        return SqliteStore(f"sqlite:///{folder}/jobs.db?synchronous=normal")


class OnPostgres:
    @staticmethod
    def make(folder: Path) -> Store:
        return PostgresStore(fresh_address())


class OnRedis:
    @staticmethod
    def make(folder: Path) -> Store:
        return RedisStore(shared_redis().address())


def as_case(machine: type[RuleBasedStateMachine], *, examples: int, steps: int, share: float = 1) -> type[TestCase]:
    """The test case of a machine, with this share of the examples: a slow store has a small one."""
    asked = os.environ.get("HOLDFAST_PROPERTY_EXAMPLES")
    case: type[TestCase] = machine.TestCase
    case.settings = settings(  # type: ignore[attr-defined]
        max_examples=max(1, round(int(asked or examples) * share)),
        stateful_step_count=steps,
        # The short run is deterministic: a failure in it is a regression, not a new find.
        derandomize=asked is None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    return case
