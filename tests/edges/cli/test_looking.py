"""`status`, `list`, `show` and `report`."""

import json
import signal
import subprocess
import sys

import pytest

from holdfast import SyncClient
from holdfast.engine.operations import ClaimJobs, ReportProgress, TypeTerms
from tests.edges.cli.conftest import APP, CommandLine, working
from tests.edges.cli.shop import add, approve


def test_status_counts_every_job_once(holdfast: CommandLine) -> None:
    first = holdfast.start("add", a=1)
    holdfast.start("add", "--delay", "1h", a=1)
    holdfast.start("total", "--after", first)
    holdfast("cancel", holdfast.start("add", a=1))
    holdfast("pause", "total")

    document = holdfast.json("status")

    assert document["counts"] == {
        "blocked": 1, "pending": 2, "running": 0, "completed": 0, "failed": 0, "cancelled": 1,
    }  # fmt: skip
    by_type = {row["type"]: row for row in document["types"]}
    assert (by_type["add"]["due"], by_type["add"]["scheduled"], by_type["add"]["cancelled"]) == (1, 1, 1)
    assert (by_type["total"]["blocked"], by_type["total"]["paused"]) == (1, True)
    assert (document["due"], document["health"]) == (1, "warning")
    assert [finding["detail"] for finding in document["findings"]] == [
        "1 job of `add` is due and no live worker runs that type"
    ]


def test_status_shows_it_in_one_screen(holdfast: CommandLine) -> None:
    holdfast.start("add", a=1)
    holdfast("pause", "burst")

    shown = holdfast("status").out

    assert "jobs.db" in shown
    assert "1 due now" in shown
    assert "paused" in shown
    assert len(shown.splitlines()) < 24


def test_status_of_an_empty_store_says_so(holdfast: CommandLine) -> None:
    assert "no jobs" in holdfast("status").out


def test_external_jobs_is_neither_due_nor_trouble(
    holdfast: CommandLine, client: SyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.status.WAITED_TOO_LONG", -1.0)
    client.start(approve.bind(order=7))

    document = holdfast.json("status", "--app", APP)
    assert (document["health"], document["due"], document["findings"]) == ("ok", 0, [])
    assert document["types"][0]["external"] is True
    (row,) = [line for line in holdfast("status", "--app", APP).out.splitlines() if line.startswith("approve")]
    assert "1 waits for an external" in row
    assert "ms" not in row, "it is not due, so it has no oldest due job"

    client.start(add.bind(a=1))
    (finding,) = holdfast.json("status", "--app", APP)["findings"]
    assert finding["subject"] == "add"


def test_watching_the_status_is_a_line_each_time_until_interrupted(store: str) -> None:
    command = [
        sys.executable,
        "-m",
        "holdfast.cli",
        "status",
        "--watch",
        "--interval",
        "100ms",
        "--json",
        "--store",
        store,
    ]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first, second = json.loads(watching.stdout.readline()), json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        _, complaint = watching.communicate(timeout=60)

    assert first["at"] < second["at"]
    assert (watching.returncode, complaint) == (130, "")


def test_a_list_is_newest_first_and_continues_at_its_cursor(holdfast: CommandLine) -> None:
    ids = [holdfast.start("add", a=number) for number in range(5)]

    first = holdfast.json("list", "--limit", "3")
    second = holdfast.json("list", "--limit", "3", "--cursor", first["next_cursor"])

    assert [item["id"] for item in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None
    assert f"--cursor {first['next_cursor']}" in holdfast("list", "--limit", "3").err


def test_a_list_shows_what_the_filters_let_through(holdfast: CommandLine) -> None:
    plain = holdfast.start("add", a=1)
    keyed = holdfast.start("add", "--key", "k", a=1)
    later = holdfast.start("add", "--delay", "1h", a=1)
    other = holdfast.start("total")
    holdfast("cancel", other)

    def listed(*filters: str) -> list[str]:
        return [item["id"] for item in holdfast.json("list", *filters)["items"]]

    assert listed("--key", "k") == [keyed]
    assert listed("--status", "scheduled") == [later]
    assert listed("--status", "cancelled") == [other]
    assert listed("--status", "cancelled", "--status", "pending", "--type", "add") == [later, keyed, plain]
    assert listed("--created-since", "1h", "--type", "total") == [other]
    assert listed("--created-since", "2100-01-01") == []
    assert listed("--created-until", "1h") == []
    assert listed("--created-until", "2100-01-01", "--type", "total") == [other]
    assert "nothing found" in holdfast("list", "--type", "nope").out


def test_a_filter_that_means_nothing_is_a_mistake(holdfast: CommandLine) -> None:
    assert "is no status" in holdfast("list", "--status", "done", exit=2).err
    assert "is no cursor" in holdfast("list", "--cursor", "x", exit=2).err
    assert "no time; write 2026-01-31T12:00:00Z" in holdfast("list", "--created-since", "7x", exit=2).err
    assert "or 2h for two hours ago" in holdfast("list", "--created-since", "7x", exit=2).err


@pytest.mark.usefixtures("worker")
def test_jobs_are_listed_one_by_one(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("twice", a=4)
    holdfast("wait", chain_id, "--timeout", "20s")

    items = holdfast.json("list", "--jobs")["items"]

    assert [(item["type"], item["index"], item["chain_id"]) for item in items] == [
        ("add", 1, chain_id),
        ("twice", 0, chain_id),
    ]


@pytest.mark.usefixtures("worker")
def test_show_prints_a_chain_without_its_payloads(holdfast: CommandLine) -> None:
    first, second = holdfast.start("add", a=1234567), holdfast.start("twice", a=2)
    chain_id = holdfast.start("total", "--after", second, "--after", first)
    holdfast("wait", chain_id, "--timeout", "20s")

    chain = holdfast.json("show", chain_id)
    shown = holdfast("show", chain_id).out

    assert (chain["kind"], chain["status"], len(chain["jobs"])) == ("chain", "completed", 1)
    assert [blocker["id"] for blocker in chain["jobs"][0]["blockers"]] == [second, first]
    assert first in shown
    assert "1234567" not in holdfast("show", first, "--json").out + holdfast("show", first).out
    assert "1234567" in holdfast("show", first, "--payload").out
    assert holdfast.json("show", first, "--payload")["jobs"][0]["output"] == 1234569


@pytest.mark.usefixtures("worker")
def test_a_null_output_differs_from_no_output(holdfast: CommandLine) -> None:
    nothing, none_yet = holdfast.start("rest"), holdfast.start("add", "--delay", "1h", a=1)
    holdfast("wait", nothing, "--timeout", "20s")

    assert holdfast.json("show", nothing, "--payload")["jobs"][0]["output"] is None
    assert "output" not in holdfast.json("show", none_yet, "--payload")["jobs"][0]
    assert "output of rest" in holdfast("show", nothing, "--payload").out
    assert "output of" not in holdfast("show", none_yet, "--payload").out


@pytest.mark.usefixtures("worker")
def test_show_prints_a_job_in_the_middle_of_a_chain(holdfast: CommandLine, client: SyncClient) -> None:
    chain_id = holdfast.start("twice", a=2)
    holdfast("wait", chain_id, "--timeout", "20s")
    last = client.list_jobs(chain=chain_id).items[0]

    job = holdfast.json("show", last.id)

    assert (job["kind"], job["id"], job["chain_id"], job["index"]) == ("job", last.id, chain_id, 1)
    assert chain_id in holdfast("show", last.id).out


def test_show_includes_progress_pause_blockers_and_the_explanation(holdfast: CommandLine, client: SyncClient) -> None:
    paused, blocked = holdfast.start("add", a=1), holdfast.start("rest")
    waiting = holdfast.start("total", "--after", blocked)
    holdfast("pause", "add")
    (running,) = client.store.perform_sync(ClaimJobs((TypeTerms("rest", 60_000_000, 1),), 1, "w-1", "token"))
    client.store.perform_sync(ReportProgress(running.claim, 0.4, "resizing"))

    held = holdfast.json("show", paused)
    assert (held["paused"], held["explanation"]["reasons"][0]["kind"]) == (True, "paused")
    assert "paused" in holdfast("show", paused).out
    active = holdfast.json("show", blocked)
    (job,) = active["jobs"]
    assert (active["paused"], job["progress"], job["progress_note"]) == (False, 0.4, "resizing")
    assert "40% resizing" in holdfast("show", blocked).out
    assert [each["id"] for each in holdfast.json("show", waiting)["jobs"][0]["blockers"]] == [blocked]
    assert blocked in holdfast("show", waiting).out


def test_what_goes_by_the_name_of_a_secret_is_masked_unless_asked_for(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("login", user="ada", password="hunter2", options={"api_key": "k3y", "theme": "dark"})

    masked = holdfast.json("show", chain_id, "--payload")["jobs"][0]["input"]
    whole = holdfast.json("show", chain_id, "--payload", "--secrets")["jobs"][0]["input"]

    assert masked == {"user": "ada", "password": "***", "options": {"api_key": "***", "theme": "dark"}}
    assert (whole["password"], whole["options"]["api_key"]) == ("hunter2", "k3y")


def test_a_report_lists_every_attempt(holdfast: CommandLine, store: str) -> None:
    chain_id = holdfast.start("burst", reason="no luck")
    with working(store):
        holdfast("wait", chain_id, "--timeout", "20s", exit=1)

    report = holdfast.json("report", chain_id)
    shown = holdfast("report", chain_id).out

    assert [(each["number"], each["outcome"], each["error"]) for each in report["attempts"]] == [
        (1, "failed", "RuntimeError: no luck"),
        (2, "failed", "RuntimeError: no luck"),
    ]
    assert shown.count("RuntimeError: no luck") >= 2
    # The traceback begins in the application's code, not in the worker's.
    assert "shop.py" in report["attempts"][0]["traceback"].splitlines()[1]


@pytest.mark.usefixtures("worker")
def test_the_report_and_the_events_of_a_chain_are_those_of_every_job(holdfast: CommandLine, client: SyncClient) -> None:
    chain_id = holdfast.start("twice", a=4)
    holdfast("wait", chain_id, "--timeout", "20s")
    last = client.list_jobs(chain=chain_id).items[0]

    report = holdfast.json("report", chain_id)
    events = holdfast.json("events", chain_id)

    assert [each["job"]["type"] for each in report["jobs"]] == ["twice", "add"]
    assert report["job"]["id"] == last.id
    assert [each["job"]["type"] for each in holdfast.json("report", last.id)["jobs"]] == ["add"]
    assert holdfast("report", chain_id).out.count("outcome") == 2
    assert [(event["type"], event["kind"]) for event in events] == [
        ("twice", "created"), ("twice", "claimed"), ("twice", "completed"),
        ("add", "created"), ("add", "claimed"), ("add", "completed"),
    ]  # fmt: skip


def test_json_shows_scheduled_like_the_table(holdfast: CommandLine) -> None:
    holdfast.start("add", "--delay", "1h", a=1)
    holdfast.start("add", a=1)

    for command in (["list"], ["list", "--jobs"]):
        found = [(item["status"], item["scheduled"]) for item in holdfast.json(*command)["items"]]
        assert found == [("pending", False), ("pending", True)]


def test_a_report_before_the_first_attempt_is_empty(holdfast: CommandLine) -> None:
    assert holdfast.json("report", holdfast.start("add", a=1))["attempts"] == []


@pytest.mark.parametrize("command", ["show", "report"])
def test_what_is_not_there_is_exit_code_3(holdfast: CommandLine, command: str) -> None:
    assert "there is no job 'missing'" in holdfast(command, "missing", exit=3).err


def test_a_job_of_an_unknown_type_is_shown(
    holdfast: CommandLine, client: SyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = client.start(add.bind(a=3))
    monkeypatch.delenv("HOLDFAST_APP")

    assert holdfast.json("show", chain.id, "--payload")["jobs"][0]["input"] == {"a": 3, "b": 2}
