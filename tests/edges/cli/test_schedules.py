"""The commands for schedules."""

from __future__ import annotations

import pytest

from holdfast import Client, Jobs, SyncClient, Worker
from holdfast.client.schedule_findings import schedule_findings
from holdfast.core.worker_record import LiveWorker, WorkerRecord
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add, jobs
from tests.waiting import until


@pytest.fixture
def nightly(holdfast: CommandLine) -> str:
    holdfast(
        "schedule", "nightly", "add", "--input", '{"a": 1}', "--cron", "30 2 * * *", "--tz", "Europe/Paris",
        "--overlap", "queue", "--missed", "all", "--within", "2h", "--jitter", "5m", "--priority", "3",
    )  # fmt: skip
    return "nightly"


def test_a_schedule_is_created_and_listed_with_its_next_ticks(holdfast: CommandLine, nightly: str) -> None:
    (document,) = holdfast.json("schedules")["schedules"]
    shown = holdfast("schedules").out

    assert (document["name"], document["type"], document["cron"], document["tz"]) == (
        "nightly", "add", "30 2 * * *", "Europe/Paris",
    )  # fmt: skip
    assert (document["overlap"], document["missed"], document["paused"]) == ("queue", "all", False)
    assert document["counts"] == {"started": 0, "skipped": 0, "missed": 0}
    assert len(document["ticks"]) == 5
    assert document["ticks"][0]["utc"] == document["next_at"]
    assert all("T02:30:00+0" in tick["local"] for tick in document["ticks"])
    assert shown.count("02:30:00 CE") == 5
    assert "queue" in shown


def test_a_schedule_with_an_interval_is_changed_and_removed(holdfast: CommandLine) -> None:
    made = holdfast.json("schedule", "often", "add", "--input", '{"a": 1}', "--every", "10m")
    assert (made["every"], made["cron"]) == (600.0, None)

    changed = holdfast.json("schedule", "often", "add", "--input", '{"a": 1}', "--every", "1h")
    assert changed["every"] == 3600.0

    assert holdfast.json("unschedule", "often") == {"unscheduled": ["often"]}
    assert "no schedules" in holdfast("schedules").out


def test_a_schedule_is_fired(holdfast: CommandLine, nightly: str) -> None:
    fired = holdfast.json("fire", nightly)

    assert fired["id"].startswith("schedule:nightly:fire:")
    assert (fired["type"], fired["status"]) == ("add", "pending")
    assert "schedule:nightly:fire:" in holdfast("fire", nightly).out
    assert holdfast.json("schedules", nightly)["schedules"][0]["counts"]["started"] == 2


def test_a_schedule_is_paused_and_resumed(holdfast: CommandLine, nightly: str) -> None:
    paused = holdfast.json("pause-schedule", nightly, "--reason", "migration")
    assert (paused["paused"], paused["reason"]) == (True, "migration")
    assert "paused: migration" in holdfast("schedules").out

    resumed = holdfast.json("resume-schedule", nightly)
    assert (resumed["paused"], resumed["reason"]) == (False, None)
    assert "next tick" in holdfast("resume-schedule", nightly).out


def test_past_ticks_are_started(holdfast: CommandLine, nightly: str) -> None:
    times = ("--since", "2026-03-28T00:00:00Z", "--until", "2026-03-30T00:00:00Z")

    started = holdfast.json("backfill", nightly, *times)["chains"]

    assert [chain["id"] for chain in started] == [
        "schedule:nightly:2026-03-28T01:30:00Z",
        "schedule:nightly:2026-03-29T01:00:00Z",
    ]
    assert "nothing to start" in holdfast("backfill", nightly, *times).out


@pytest.mark.parametrize(
    "arguments", [["fire", "x"], ["unschedule", "x"], ["pause-schedule", "x"], ["resume-schedule", "x"],
                  ["schedules", "x"], ["backfill", "x", "--since", "2026-01-01T00:00Z", "--until", "2026-01-02T00:00Z"]]
)  # fmt: skip
def test_an_unknown_schedule_is_not_found(holdfast: CommandLine, arguments: list[str]) -> None:
    assert "there is no schedule 'x'" in holdfast(*arguments, exit=3).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --cron or --every"),
        (["--cron", "@daily", "--every", "1h"], "either --cron or --every"),
        (["--cron", "* * *"], "five fields"),
        (["--cron", "@daily", "--tz", "Mars"], "no time zone"),
        (["--every", "1h", "--overlap", "maybe"], "overlap must be one of"),
        (["--every", "1h", "--missed", "some"], "missed must be one of"),
        (["--every", "soon"], "no duration"),
    ],
)
def test_bad_rules_are_refused(holdfast: CommandLine, arguments: list[str], message: str) -> None:
    answer = holdfast("schedule", "x", "add", "--input", '{"a": 1}', *arguments, exit=2)

    assert message in answer.err
    assert holdfast.json("schedules") == {"schedules": []}


def test_times_of_a_backfill_need_a_zone(holdfast: CommandLine, nightly: str) -> None:
    answer = holdfast("backfill", nightly, "--since", "2026-01-01", "--until", "2026-01-02T00:00:00Z", exit=2)

    assert "has no time zone" in answer.err


def test_doctor_names_orphaned_schedules(holdfast: CommandLine, client: SyncClient) -> None:
    holdfast("schedule", "often", "add", "--input", '{"a": 1}', "--every", "10m")

    assert not any("schedule" in finding["subject"] for finding in holdfast.json("doctor")["findings"])


async def test_orphans_and_different_declarations_are_findings() -> None:
    store = MemoryStore()
    mine = Jobs(name="shop")
    mine.add(add)
    mine.schedule("nightly", add.bind(a=1), every=60)
    await drain(Client(store, mine))
    without = Jobs(name="shop")
    without.add(add)
    client = SyncClient(store, jobs)

    async def orphaned() -> bool:
        return client.schedules()[0].orphaned

    async with Worker(Client(store, without)):
        await until(orphaned)

    (orphan,) = schedule_findings(client.schedules(), [])
    assert orphan.subject == "schedule nightly"
    assert "holdfast unschedule nightly" in orphan.detail

    same = [_worker("one", '{"schedules": {"a": "1"}}'), _worker("two", '{"schedules": {"a": "1"}}')]
    other = [*same, _worker("three", '{"schedules": {"a": "2", "b": "1"}}'), _worker("four", "{}", registry="x")]
    assert schedule_findings([], same) == []
    (finding,) = schedule_findings([], other)
    assert (finding.level, finding.subject) == ("warning", "registry shop")
    assert "different schedules (a, b)" in finding.detail


def test_a_schedule_whose_type_no_worker_runs_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    declaring = Jobs()
    declaring.schedule("foreign", add.bind(1), every=60)

    with SyncClient(MemoryStore(), declaring, migrate=True) as client:
        served = schedule_findings(client.schedules(), [_worker("one", "{}")])
        served += schedule_findings(client.schedules(), [_worker("one", '{"external": ["add"]}', types=())])
        (finding,) = schedule_findings(client.schedules(), [_worker("one", "{}", types=("other",))])

    assert "'foreign'" in caplog.text
    assert "jobs.include" in caplog.text
    assert served == []
    assert (finding.level, finding.subject) == ("warning", "schedule foreign")
    assert "none has the type add" in finding.detail


def _worker(id: str, details: str, *, registry: str = "shop", types: tuple[str, ...] = ("add",)) -> LiveWorker:
    return LiveWorker(WorkerRecord(id, "server", 1, types, 5, registry, details))
