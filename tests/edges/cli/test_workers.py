"""`workers` and `workers drain`, and what `status` and `doctor` say about live workers."""

from typing import Any

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import APP, CommandLine, working
from tests.edges.cli.shop import add, approve
from tests.waiting import wait_until

MISSING = "3 jobs of `add` are due and no live worker runs that type"


def listed(holdfast: CommandLine) -> list[dict[str, Any]]:
    """The workers, as soon as there is one."""
    wait_until(lambda: bool(holdfast.json("workers")["workers"]))
    workers: list[dict[str, Any]] = holdfast.json("workers")["workers"]
    return workers


def test_a_live_worker_is_listed_and_a_stopped_one_is_not(holdfast: CommandLine) -> None:
    assert "no live worker" in holdfast("workers").out
    with working(holdfast.store):
        (worker,) = listed(holdfast)
        shown = holdfast("workers", width=80).out

    assert worker["concurrency"] == 4
    assert worker["busy"] == 0
    assert "add" in worker["types"]
    assert worker["draining"] is False
    assert worker["id"] in shown
    assert holdfast.json("workers") == {"workers": []}


def test_a_drained_worker_stops(holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    # So only a wake-up makes the worker read that it is drained.
    monkeypatch.setattr("holdfast.worker.reporter.SECOND_REPORT", 1000.0)
    with working(holdfast.store):
        (worker,) = listed(holdfast)

        assert holdfast.json("workers", "drain", worker["id"]) == {"drained": worker["id"]}

        wait_until(lambda: not holdfast.json("workers")["workers"])


@pytest.mark.parametrize("arguments", [["workers", "drain", "x"], ["--json", "workers", "drain", "x"]])
def test_an_unknown_worker_is_not_found(holdfast: CommandLine, arguments: list[str]) -> None:
    answer = holdfast(*arguments, exit=3)

    assert "there is no live worker 'x'" in answer.err


def test_status_and_doctor_name_types_without_a_live_worker(holdfast: CommandLine, client: SyncClient) -> None:
    for number in range(3):
        client.start(add.bind(a=number))

    assert MISSING in [finding["detail"] for finding in holdfast.json("status")["findings"]]
    assert MISSING in [finding["detail"] for finding in holdfast.json("doctor")["findings"]]
    assert MISSING in holdfast("status").out


def test_status_and_doctor_show_live_workers(holdfast: CommandLine) -> None:
    with working(holdfast.store):
        (worker,) = listed(holdfast)

        (row,) = holdfast.json("status")["workers"]
        findings = {each["subject"]: each for each in holdfast.json("doctor")["findings"]}
        shown = holdfast("status").out

    assert (row["worker"], row["running"], row["lease_seconds"], row["live"]) == (worker["id"], 0, None, True)
    assert findings["workers"]["detail"] == "1 live, 0 of 4 slots in use"
    assert worker["id"] in shown


def test_a_paused_type_needs_no_worker(holdfast: CommandLine, client: SyncClient) -> None:
    client.start(add.bind(a=1))
    client.pause("add")

    assert holdfast.json("status")["findings"] == []


def test_a_type_that_a_live_worker_declares_without_a_handler_is_external(
    holdfast: CommandLine, client: SyncClient
) -> None:
    client.start(approve.bind(order=7))
    assert len(holdfast.json("status")["findings"]) == 1
    assert holdfast.json("status", "--app", APP)["findings"] == []

    with working(holdfast.store):
        listed(holdfast)

        document = holdfast.json("status")

    assert (document["findings"], document["due"]) == ([], 0)
    assert document["types"][0]["external"] is True


def test_doctor_top_and_backlog_leave_out_what_live_workers_declare_without_a_handler(
    holdfast: CommandLine, client: SyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.stores.late_jobs.LATE", -1)
    client.start(approve.bind(order=7))
    assert "no live worker runs" in holdfast("doctor").out

    with working(holdfast.store):
        listed(holdfast)

        findings = {each["subject"]: each for each in holdfast.json("doctor")["findings"]}
        top, shown = holdfast.json("top", "--once"), holdfast("top", "--once").out
        backlog = holdfast.json("backlog")

    assert "approve" not in findings
    assert (findings["oldest due job"]["level"], findings["oldest due job"]["detail"]) == ("ok", "none")
    assert (top["due"], top["oldest_due_seconds"]) == (0, None)
    assert (top["types"][0]["external"], top["types"][0]["due"]) == (True, 1)
    assert "1 waits for an external completion" in shown
    assert (backlog["due"], backlog["others"]["approve"]["due"]) == (0, 1)


def test_a_type_that_the_app_only_declares_is_not_external_if_a_live_worker_runs_it(
    holdfast: CommandLine, client: SyncClient
) -> None:
    client.start(add.bind(a=1))
    client.pause("add")

    with working(holdfast.store):
        listed(holdfast)

        declaring = ("--app", "tests.edges.cli.producer:jobs")
        status = holdfast.json("status", *declaring)

    assert status["types"][0]["external"] is False
