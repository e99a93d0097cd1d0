"""`send`, `retry --from-step`, and steps in `show` and `report`."""

import re

from holdfast import SyncClient
from holdfast.testing import drain_sync
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import ship, sign


def test_messages_steps_and_a_retry_from_a_step(holdfast: CommandLine, client: SyncClient) -> None:
    chain = client.start(ship.bind(order=7))
    drain_sync(client)
    reason = holdfast.json("explain", chain.id)["reasons"][0]  # the most specific one; no worker runs the type
    assert reason["kind"] == "message"
    assert f"(`holdfast send {chain.id} label JSON`)" in reason["text"]

    assert "no JSON" in holdfast("send", chain.id, "label", "text", exit=2).err
    assert holdfast("send", "unknown", "label", "1", exit=3).err
    assert holdfast.json("send", chain.id, "label", '""') == {"chain": chain.id, "name": "label", "first": True}
    assert "not stored" in holdfast("send", chain.id, "label", "-", input='"A"').out
    drain_sync(client)

    document = holdfast.json("show", chain.id)["jobs"][0]
    assert [(step["name"], step["each"], step["kind"]) for step in document["steps"]] == [
        ("charge", 7, "step"),
        ("label", None, "receive"),
    ]
    assert "result" not in document["steps"][0]
    (charge, _) = holdfast.json("show", chain.id, "--payload")["jobs"][0]["steps"]
    assert charge["result"] == {"payment": 7, "password": "***"}
    shown = holdfast("show", chain.id, "--payload").out
    assert "steps of ship" in shown
    assert "open sesame" not in shown
    assert "open sesame" in holdfast("show", chain.id, "--payload", "--secrets").out
    report = holdfast.json("report", chain.id)
    assert [step["name"] for step in report["steps"]] == ["charge", "label"]
    assert [attempt["outcome"] for attempt in report["attempts"]] == ["suspended", "failed"]
    assert "charge" in holdfast("report", chain.id).out

    assert "no step 'unknown'" in holdfast("retry", chain.id, "--from-step", "unknown", exit=3).err
    holdfast("retry", chain.id, "--from-step", "label")
    holdfast("send", chain.id, "label", '"A-17"')
    drain_sync(client)

    assert holdfast.json("wait", chain.id)["output"] == "A-17"
    assert "already finished" in holdfast("send", chain.id, "late", "1", exit=1).err


def test_a_job_that_waits_for_a_message_is_shown_with_the_message_and_its_timeout(
    holdfast: CommandLine, client: SyncClient
) -> None:
    endless, timed = client.start(ship.bind(order=7)), client.start(sign.bind())
    drain_sync(client)

    commands = ("show", "explain", "report", "list", "list --jobs", "status")
    printed = {id: {each: _printed(holdfast, each, id) for each in commands} for id in (endless.id, timed.id)}

    assert not [each for found in printed.values() for each, text in found.items() if "9999" in text]
    assert re.search(r"waits for +the message label *\ntimeout +none *\n", printed[endless.id]["show"])
    assert re.search(r"waits for +the message signature *\ntimeout +in (1h|59m\d+s|60m) *\n", printed[timed.id]["show"])
    assert "when a message arrives" in printed[endless.id]["report"]
    document = holdfast.json("show", endless.id)
    assert (document["scheduled_at"], document["scheduled"], document["status"]) == (None, True, "pending")
    assert document["explanation"]["messages"] == ["label"]
    assert holdfast.json("report", endless.id)["attempts"][0]["next_at"] is None


def test_run_now_says_that_a_job_still_waits_for_a_message(holdfast: CommandLine, client: SyncClient) -> None:
    chain = client.start(ship.bind(order=7))
    drain_sync(client)

    refused = holdfast("run-now", chain.id, exit=1)

    assert "made due" not in refused.out
    assert f"still waits for the message label: send it with `holdfast send {chain.id} label JSON`" in refused.err
    (item,) = holdfast.json("run-now", chain.id, exit=1)["items"]
    assert (item["done"], item["status"]) == (False, "pending")


def _printed(holdfast: CommandLine, command: str, id: str) -> str:
    """What a command prints, as text and in JSON."""
    arguments = [*command.split(), *([id] if command in ("show", "explain", "report") else [])]
    return holdfast(*arguments).out + holdfast(*arguments, "--json").out
