"""`stats`, `status --rates`, `errors`, `top` and `retry --group`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add, refuse


def test_stats_counts_what_happened_per_type(holdfast: CommandLine, worker: None) -> None:
    holdfast("wait", holdfast.start("add", a=1))
    holdfast("wait", holdfast.start("refuse", reason="no"), exit=1)

    document = holdfast.json("stats", "--since", "10m", "--minutes")

    by_type = {row["type"]: row for row in document["types"]}
    assert (by_type["add"]["started"], by_type["add"]["completed"], by_type["refuse"]["failed"]) == (1, 1, 1)
    assert document["all"]["completed"] == 1
    assert document["all"]["per_minute"]["completed"] > 0
    assert by_type["add"]["run"]["count"] == 1
    assert by_type["add"]["run"]["p95"] > 0
    assert sum(each["completed"] for each in by_type["add"]["minutes"]) == 1
    assert by_type["add"]["total"]["completed"] == 1
    shown = holdfast("stats", "--type", "add").out
    assert "add" in shown
    assert "refuse" not in shown


def test_stats_of_more_than_a_day_are_refused(holdfast: CommandLine) -> None:
    assert "last 24 hours" in holdfast("stats", "--since", "2d", exit=2).err
    assert "nothing was counted" in holdfast("stats").out


def test_status_shows_rates_if_asked(holdfast: CommandLine, worker: None) -> None:
    holdfast("wait", holdfast.start("add", a=1))

    assert "rates" not in holdfast.json("status")
    assert holdfast.json("status", "--rates")["rates"]["all"]["completed"] == 1
    assert "per minute" in holdfast("status", "--rates").out


def test_errors_are_grouped_and_their_jobs_retried(holdfast: CommandLine, worker: None) -> None:
    odd = [holdfast.start("refuse", reason=f"order {number} is odd") for number in (1, 3)]
    for id in odd:
        holdfast("wait", id, exit=1)
    even = holdfast.start("refuse", reason="even")
    holdfast("wait", even, exit=1)

    first, second = holdfast.json("errors")["errors"]

    assert (first["count"], first["failed"], first["retried"]) == (2, 2, 0)
    assert (first["type"], first["exception"], first["message"]) == ("refuse", "Fail", "order N is odd")
    assert first["frame"] == "cli/shop.py:refuse"
    assert first["example"] in odd
    shown = holdfast("errors", "--since", "1h", "--type", "refuse").out
    assert first["fingerprint"] in shown
    assert "Fail: order N is odd" in shown
    assert holdfast.json("list", "--group", second["fingerprint"])["items"][0]["id"] == even

    preview = holdfast.json("retry", "--group", first["fingerprint"], "--dry-run")
    assert {each["id"] for each in preview["items"]} == set(odd)
    holdfast("retry", "--group", first["fingerprint"], "--yes")
    for id in odd:
        holdfast("wait", id, exit=1)
    assert holdfast.json("errors")["errors"][0]["count"] == 4
    holdfast("retry", "--group", "unknown", "--yes", exit=3)


def test_without_failures_errors_says_so(holdfast: CommandLine) -> None:
    assert holdfast.json("errors") == {"errors": []}
    assert "no failures" in holdfast("errors").out


def test_hostile_text_in_an_error_is_escaped(holdfast: CommandLine, worker: None) -> None:
    holdfast("wait", holdfast.start("refuse", reason="\x1b[31mred"), exit=1)

    assert "\x1b" not in holdfast("errors").out
    assert "\x1b" not in holdfast("top", "--once").out


def test_top_shows_one_frame(holdfast: CommandLine, client: SyncClient, worker: None) -> None:
    client.wait(client.start(add.bind(a=1)), timeout=60)
    holdfast("wait", client.start(refuse.bind(reason="no")).id, exit=1)
    client.start(add.bind(a=1), delay=3600)
    holdfast("pause", "add")
    client.start(add.bind(a=1))

    document = holdfast.json("top", "--once")

    rows = {row["type"]: row for row in document["types"]}
    assert (rows["add"]["completed"], rows["add"]["due"], rows["add"]["paused"]) == (1, 1, True)
    assert (document["due"], document["running"], len(document["workers"])) == (0, 0, 1)
    assert document["errors"][0]["line"] == "Fail: no"
    for width in (40, 80, 200):
        shown = holdfast("top", "--once", width=width).out
        assert "\x1b" not in shown
        assert max(map(len, shown.splitlines()[1:])) <= width
    wide = holdfast("top", "--once").out
    assert "completed" in wide
    assert wide.splitlines()[0].endswith("  1 worker")
    assert "paused" in wide


def test_top_of_an_empty_store_says_so(holdfast: CommandLine) -> None:
    shown = holdfast("top", "--once").out
    assert "no jobs" in shown
    assert "0 workers" in shown
    assert "--interval" in holdfast("top", "--interval", "0", exit=2).err


def test_top_refreshes_until_interrupted(store: str) -> None:
    command = [sys.executable, "-m", "holdfast.cli", "top", "--interval", "100ms", "--json", "--store", store]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first, second = json.loads(watching.stdout.readline()), json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        _, complaint = watching.communicate(timeout=60)

    assert first["at"] < second["at"]
    assert (watching.returncode, complaint) == (130, "")
