"""Each store agrees with memory about schedules, whatever the order of changes and reads."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import invariant, rule

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import ChangeSchedule, DueSchedules, Filter, GetSchedules, ListJobs
from holdfast.testing.builders import new_job
from tests.property.cases import OnPostgres, OnRedis, OnSqlite, StoreMachine, as_case

names = st.sampled_from(("nightly", "hourly", "tenant:7", "ü"))
types = st.sampled_from(("resize", "other"))


class SchedulesAgree(StoreMachine):
    """A few schedules that are changed with current, stale and unknown versions."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: list[str] = ["never"]
        self.ids: list[str] = ["unknown"]

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


class Sqlite(OnSqlite, SchedulesAgree):
    pass


class Postgres(OnPostgres, SchedulesAgree):
    pass


class Redis(OnRedis, SchedulesAgree):
    pass


TestSqlite = as_case(Sqlite, examples=10, steps=20)
TestPostgres = as_case(Postgres, examples=10, steps=20, share=0.3)
TestRedis = as_case(Redis, examples=10, steps=20)
