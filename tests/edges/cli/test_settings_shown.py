"""`config`, `backlog` and `events`: what is set, what is due, what happens."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest

from holdfast import Jobs, SyncClient
from holdfast.supervisor.backlog import Reading
from holdfast.supervisor.metrics import backlog_document
from tests.edges.cli.conftest import APP, CommandLine
from tests.edges.cli.shop import add, approve, burst, jobs


def test_the_settings_in_effect_can_be_read_again_and_hide_passwords(
    holdfast: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", "postgresql://shop:hunter2@db/jobs")
    path = tmp_path / "one.toml"
    path.write_text("[workers]\nmax_count = 3\n[workers.cpu]\ntypes = ['add']\n[work_kinds.a]\nduration = 1\n")

    shown = holdfast("config", "--config", str(path)).out
    again = tmp_path / "again.toml"
    again.write_text(shown)

    assert "hunter2" not in shown
    assert "***" in shown
    assert "max_count = 3" in shown
    assert holdfast("config", "--config", str(again)).out == shown
    assert holdfast.json("config", "--config", str(path))["workers"]["cpu"]["types"] == ["add"]


def test_a_mistake_in_the_file_names_its_line(holdfast: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text("[workers]\nmax_count = 0\n")

    assert "wrong.toml, line 2, workers.max_count" in holdfast("config", "--config", str(path), exit=2).err


def test_the_backlog_counts_what_could_run_now(holdfast: CommandLine, client: SyncClient) -> None:
    client.start_many([add.bind(a=1), add.bind(a=2), add.bind(a=3).options(delay=60), burst.bind()])
    client.pause("burst")

    document = holdfast.json("backlog")

    assert document["due"] == 2
    assert document["oldest_due_seconds"] >= 0
    assert document["types"]["add"]["scheduled"] == 1
    assert document["types"]["burst"] == {
        "due": 0, "oldest_due_seconds": None, "scheduled": 0, "running": 0, "paused": True,
    }  # fmt: skip
    assert holdfast.json("backlog", "--types", "burst")["due"] == 0
    assert "2 due" in holdfast("backlog").out


def test_the_backlog_is_that_of_the_app_s_supervisor(holdfast: CommandLine, client: SyncClient) -> None:
    @Jobs().job
    def unrelated() -> None: ...

    client.start_many([add.bind(a=1), approve.bind(order=1), approve.bind(order=2), unrelated.bind()])
    handled = [job_type.name for job_type in jobs if job_type.function is not None]
    reading = Reading(client.stats().types)

    document = holdfast.json("backlog", "--app", APP)
    shown = holdfast("backlog", "--app", APP).out

    others = document.pop("others")
    assert document == {**backlog_document(reading, handled), "oldest_due_seconds": ANY, "types": ANY}
    assert (document["due"], document["demand"], set(document["types"])) == (1, 1, set(handled))
    assert (others["approve"]["due"], others["unrelated"]["due"]) == (2, 1)
    assert re.search(r"approve +0 +0 +2 wait for an external completion", shown)
    assert re.search(r"unrelated .* no handler in tests\.edges\.cli\.shop:jobs", shown)
    assert holdfast.json("backlog", "--types", "approve")["due"] == 2


def test_without_an_app_the_backlog_is_all_that_is_due(
    holdfast: CommandLine, client: SyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.start_many([add.bind(a=1), approve.bind(order=1)])
    monkeypatch.delenv("HOLDFAST_APP")

    assert holdfast.json("backlog")["due"] == 2


def test_the_events_of_a_job_go_from_its_creation_to_its_end(
    holdfast: CommandLine, client: SyncClient, worker: None
) -> None:
    chain = client.start(burst.bind(reason="bad day"))
    holdfast("wait", chain.id, "--timeout", "30s", exit=1)

    found = holdfast.json("events", chain.id)

    assert [event["kind"] for event in found] == ["created", "claimed", "retrying", "claimed", "failed"]
    assert [event.get("attempt") for event in found] == [None, 1, 1, 2, 2]
    assert "bad day" in found[-1]["error"]
    assert "retrying" in holdfast("events", chain.id).out


def test_a_job_that_is_not_there_has_no_events(holdfast: CommandLine) -> None:
    holdfast("events", "missing", exit=3)


def test_events_of_nothing_in_particular_need_following(holdfast: CommandLine) -> None:
    assert "--follow" in holdfast("events", exit=2).err


def test_events_are_followed_live_until_interrupted(holdfast: CommandLine, client: SyncClient, worker: None) -> None:
    command = [sys.executable, "-m", "holdfast.cli", "events", "--follow", "--json", "--store", holdfast.store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        kinds: list[str] = []
        # It receives only events after it has subscribed, so jobs are started until it has received one.
        for _ in range(200):
            chain = client.start(add.bind(a=1))
            client.wait(chain, timeout=60)
            if following.poll() is not None or _has_line(following):
                break
        for line in following.stdout:
            kinds.append(json.loads(line)["kind"])
            if kinds[-1] == "completed":
                break
        following.send_signal(signal.SIGINT)
        _, complaint = following.communicate(timeout=60)

    assert "completed" in kinds
    assert (following.returncode, complaint) == (130, "")


def _has_line(process: subprocess.Popen[str]) -> bool:
    import select

    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0.2)[0])
