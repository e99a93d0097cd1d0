"""`explain`, and the explanation in `show`."""

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import APP, CommandLine
from tests.edges.cli.shop import add, approve, total


def test_a_due_job_without_a_worker(holdfast: CommandLine, client: SyncClient) -> None:
    chain = client.start(add.bind(a=1))

    document = holdfast.json("explain", chain.id)
    shown = holdfast("explain", chain.id).out

    assert document["claimable"] is True
    assert document["job"]["id"] == chain.id
    assert document["reasons"] == [
        {"kind": "no_worker", "text": "No live worker runs jobs of the type `add`.", "until": None}
    ]
    assert document["text"] == "No live worker runs jobs of the type `add`."
    assert "no_worker: No live worker runs jobs of the type `add`." in shown
    assert chain.id in shown


def test_a_scheduled_and_a_blocked_job(holdfast: CommandLine, client: SyncClient) -> None:
    scheduled = client.start(add.bind(a=1), delay=3600)
    blocked = client.start(total.bind(), after=[scheduled])

    first = holdfast.json("explain", scheduled.id)["reasons"][0]
    second = holdfast.json("explain", blocked.id)["reasons"][0]

    assert scheduled.scheduled_at is not None
    assert (first["kind"], first["until"]) == ("scheduled", scheduled.scheduled_at.isoformat())
    assert "That is in " in holdfast("explain", scheduled.id).out
    assert second["kind"] == "blocked"
    assert scheduled.id in second["text"]


def test_an_external_type_is_known_with_the_app(holdfast: CommandLine, client: SyncClient) -> None:
    chain = client.start(approve.bind(order=7))

    assert holdfast.json("explain", chain.id)["reasons"][0]["kind"] == "no_worker"
    assert holdfast.json("explain", chain.id, "--app", APP)["reasons"][0]["kind"] == "external"


@pytest.mark.parametrize("command", ["explain", "show"])
def test_an_unknown_id_is_not_found(holdfast: CommandLine, command: str) -> None:
    assert "there is no job" in holdfast(command, "unknown", exit=3).err


def test_show_contains_the_explanation_of_the_current_job(holdfast: CommandLine, client: SyncClient) -> None:
    chain = client.start(add.bind(a=1))
    client.pause("add")

    document = holdfast.json("show", chain.id)

    assert [reason["kind"] for reason in document["explanation"]["reasons"]] == ["paused", "no_worker"]
    assert document["explanation"]["claimable"] is False
    assert "paused: Jobs of the type `add` are paused until `holdfast resume add`." in holdfast("show", chain.id).out
