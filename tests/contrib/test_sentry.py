"""The Sentry plugin against the SDK with its default integrations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APPLICATION = Path(__file__).with_name("sentry_app.py")


class Sent:
    """What an application sent to Sentry."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, str(APPLICATION), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout.splitlines()[-1])
        self.chain: str = answer["chain"]
        self.events = [each for each in answer["envelopes"] if each["item"] == "event"]
        self.transactions = [each for each in answer["envelopes"] if each["item"] == "transaction"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any]
        (event,) = self.events
        return event


@pytest.mark.parametrize("logging", [(), ("--structlog",)], ids=["logging", "structlog"])
@pytest.mark.parametrize("name", ["charge", "charge_in_thread"])
def test_a_permanent_failure_is_one_event_with_the_real_exception(name: str, logging: tuple[str, ...]) -> None:
    sent = Sent(name, *logging)
    (exception,) = sent.event["exception"]["values"]
    assert exception["type"] == "ConnectionError"
    assert exception["value"] == "no answer for order 7"
    frames = [frame["function"] for frame in exception["stacktrace"]["frames"]]
    assert frames[-2:] == [name, "charge_card"]
    assert "around" not in frames  # without the frames of the engine and of plugins at its beginning
    tags = sent.event["tags"]
    assert (tags["job_id"], tags["chain_id"], tags["job_type"]) == (sent.chain, sent.chain, name)
    assert tags["attempt"] == ("3" if name == "charge" else "1")
    assert sent.event["transaction"] == name


def test_an_event_has_the_breadcrumbs_of_its_attempt() -> None:
    crumbs = [crumb["message"] for crumb in Sent("charge").event["breadcrumbs"]["values"]]
    assert crumbs.count("asked the bank") == 1


@pytest.mark.parametrize("logging", [(), ("--structlog",)], ids=["logging", "structlog"])
def test_every_failed_attempt_is_reported_if_wanted(logging: tuple[str, ...]) -> None:
    sent = Sent("charge", "--every-attempt", *logging)

    assert [event["tags"]["attempt"] for event in sent.events] == ["1", "2", "3"]


def test_an_exception_that_the_application_reported_is_not_reported_again() -> None:
    assert Sent("reported").event["tags"]["job_type"] == "reported"


def test_a_reschedule_is_no_failure() -> None:
    sent = Sent("decided")
    assert [value["type"] for value in sent.event["exception"]["values"]] == ["Fail"]
    assert [each["contexts"]["trace"].get("status") for each in sent.transactions[1:]] == [None, "internal_error"]


def test_a_trace_continues_from_the_caller_to_the_handler() -> None:
    sent = Sent("fine")
    request, process = sent.transactions
    (publish,) = request["spans"]
    (span,) = process["spans"]
    assert publish["op"] == "queue.publish"
    assert process["contexts"]["trace"]["trace_id"] == request["contexts"]["trace"]["trace_id"]
    assert process["contexts"]["trace"]["parent_span_id"] == publish["span_id"]
    assert process["transaction"] == "fine"
    assert span["op"] == "queue.process"
    assert span["data"]["messaging.destination.name"] == "fine"
    assert span["data"]["messaging.message.id"] == sent.chain
    assert span["data"]["messaging.message.retry.count"] == 0
    assert span["data"]["messaging.message.receive.latency"] == 0
    assert span["data"]["messaging.message.body.size"] == 2
    assert sent.events == []
