"""Each store agrees with memory about schedules, whatever the order of changes and reads."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import ChangeSchedule, DueSchedules, Filter, GetSchedules, ListJobs
from holdfast.engine.store import Store
from holdfast.stores.memory import MemoryStore
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.redis import RedisStore
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
from tests.property.pair import Pair
from tests.servers.postgres import fresh_address
from tests.servers.redis import shared_redis

names = st.sampled_from(("nightly", "hourly", "tenant:7", "ü"))
types = st.sampled_from(("resize", "other"))


class SchedulesAgree(RuleBasedStateMachine):
    """A few schedules that are changed with current, stale and unknown versions."""

    @staticmethod
    def make(folder: Path) -> Store:
        """The tested store."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.pair = Pair(MemoryStore(), self.make(Path(self.folder.name)))
        self.versions: list[str] = ["never"]
        self.ids: list[str] = ["unknown"]

    def teardown(self) -> None:
        self.pair.close()
        self.folder.cleanup()

    @rule(
        name=names,
        type=types,
        body=st.one_of(st.none(), st.binary(max_size=8)),
        due=st.one_of(st.none(), st.integers(-3, 3)),
        which=st.sampled_from(("current", "current", "current", "absent", "any", "repeated")),
        starts=st.integers(0, 2),
        data=st.data(),
    )
    def change(
        self, name: str, type: str, body: bytes | None, due: int | None, which: str, starts: int, data: st.DataObject
    ) -> None:
        found = self.pair.model.perform_sync(GetSchedules((name,))).schedules
        current = found[0].version if found else None
        version = f"v{len(self.versions)}"
        if which == "repeated" and current is not None:
            version = current
        self.versions.append(version)
        expected = current if which == "current" else None if which == "absent" else data.draw(self._versions())
        if expected == version:  # a version is used for one change
            expected = "never"
        at = None if due is None else self.pair.clock() + due * SECOND
        jobs = tuple(self._job(data) for _ in range(starts))
        self.pair.perform(ChangeSchedule(name, expected, version, type, body, at, jobs))

    @rule(seconds=st.integers(0, 3))
    def wait(self, seconds: int) -> None:
        self.pair.clock.advance(seconds)

    @invariant()
    def the_same_is_read(self) -> None:
        self.pair.perform(GetSchedules())

    @rule(wanted=st.sampled_from((("resize",), ("resize", "other"), ())), limit=st.sampled_from((1, 10)))
    def read(self, wanted: tuple[str, ...], limit: int) -> None:
        self.pair.perform(DueSchedules(wanted, limit))
        self.pair.perform(GetSchedules(("nightly", "ü", "unknown")))
        self.pair.perform(ListJobs(Filter(), 1000))

    def _versions(self) -> st.SearchStrategy[str]:
        return st.sampled_from(self.versions)

    def _job(self, data: st.DataObject) -> NewJob:
        new = f"job-{len(self.ids)}"
        id = data.draw(st.sampled_from((new, new, new, self.ids[-1])))
        self.ids.append(id)
        after = data.draw(st.sampled_from(((), (), (), (self.ids[0],), (self.ids[len(self.ids) // 2],))))
        return new_job(id=id, after=tuple(each for each in after if each != id))


class Sqlite(SchedulesAgree):
    @staticmethod
    def make(folder: Path) -> Store:
        return SqliteStore(f"sqlite:///{folder}/jobs.db?synchronous=normal")


class Postgres(SchedulesAgree):
    @staticmethod
    def make(folder: Path) -> Store:
        return PostgresStore(fresh_address())


class Redis(SchedulesAgree):
    @staticmethod
    def make(folder: Path) -> Store:
        return RedisStore(shared_redis().address())


def _case(machine: type[SchedulesAgree], *, share: float) -> type[TestCase]:
    asked = os.environ.get("HOLDFAST_PROPERTY_EXAMPLES")
    case: type[TestCase] = machine.TestCase
    case.settings = settings(  # type: ignore[attr-defined]
        max_examples=max(1, round(int(asked or 10) * share)),
        stateful_step_count=20,
        derandomize=asked is None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    return case


TestSqlite = _case(Sqlite, share=1)
TestPostgres = _case(Postgres, share=0.3)
TestRedis = _case(Redis, share=1)
