"""`retry`, `cancel` and `delete` of many chains: filters, dry run, limit, confirmation, and what was skipped."""

import os
import pty
import subprocess
import sys

import pytest

from holdfast import Status, SyncClient
from tests.edges.cli.conftest import CommandLine, working
from tests.edges.cli.shop import add, total
from tests.servers.redis import new_namespace, shared_redis

ACTIONS = ("retry", "cancel", "delete")


@pytest.fixture
def failed(holdfast: CommandLine, store: str) -> list[str]:
    """Chains that failed, oldest first, with different errors."""
    ids = [holdfast.start("refuse", reason=reason) for reason in ("closed", "open", "CLOSED again")]
    with working(store):
        for id in ids:
            holdfast("wait", id, "--timeout", "20s", exit=1)
    return ids


@pytest.mark.parametrize("action", ACTIONS)
def test_a_filter_that_matches_nothing_is_exit_code_3(holdfast: CommandLine, action: str) -> None:
    holdfast.start("add", a=1)

    for how in ((), ("--yes",), ("--dry-run",)):
        answer = holdfast.json(action, "--type", "unknown", *how, exit=3)
        assert answer == {"matched": 0, "done": 0, "skipped": 0, "items": []}
    assert "nothing matches" in holdfast(action, "--type", "unknown", exit=3).out
    assert holdfast.json("list", "--type", "unknown") == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_filter_needs_a_confirmation(holdfast: CommandLine, client: SyncClient, action: str) -> None:
    chain_id = holdfast.start("add", a=1)
    holdfast("cancel", chain_id) if action == "retry" else None
    status = ("--status", "cancelled") if action == "retry" else ()

    refused = holdfast(action, "--type", "add", *status, exit=2).err

    assert f"this would {action} 1 chain" in refused
    assert "add --yes, or --dry-run to see which" in refused
    chain = client.get(chain_id)
    assert chain is not None
    assert chain.status == ("cancelled" if action == "retry" else "pending")


@pytest.mark.parametrize("action", ACTIONS)
def test_a_dry_run_changes_nothing(holdfast: CommandLine, client: SyncClient, failed: list[str], action: str) -> None:
    answer = holdfast.json(action, "--status", "failed", "--error", "closed", "--dry-run")

    assert answer["dry_run"] is True
    assert answer["matched"] == 2
    assert sorted(answer["items"], key=lambda item: str(item["id"])) == [
        {"id": failed[0], "type": "refuse", "status": "failed", "error": "Fail: closed"},
        {"id": failed[2], "type": "refuse", "status": "failed", "error": "Fail: CLOSED again"},
    ]
    assert client.stats().counts[Status.FAILED] == 3
    shown = holdfast(action, *failed[:1], "--dry-run").out
    assert f"would {action} 1 chain" in shown
    assert failed[0] in shown
    assert [entry["action"] for entry in holdfast.json("audit")["items"]] == []


def test_filters_choose_by_error_time_type_and_key(holdfast: CommandLine, failed: list[str]) -> None:
    def chosen(*filters: str) -> list[str]:
        items = holdfast.json("retry", *filters, "--dry-run", exit=3 if "none" in filters else 0)["items"]
        return sorted(item["id"] for item in items)

    assert chosen("--error", "closed") == [failed[0], failed[2]]
    assert chosen("--failed-since", "1h", "--type", "refuse") == failed
    assert chosen("--chain-type", "refuse", "--finished-since", "1h") == failed
    assert chosen("--created-since", "1h") == failed
    assert chosen("--key", "none") == []
    assert chosen("--worker", "none") == []
    assert "is no time" in holdfast("retry", "--failed-since", "7x", exit=2).err
    assert "between 1 and" in holdfast("retry", "--error", "", exit=2).err


def test_a_limit_takes_the_newest(holdfast: CommandLine, client: SyncClient, failed: list[str]) -> None:
    answer = holdfast.json("retry", "--type", "refuse", "--limit", "2", "--yes", "--reason", "the depot is open")

    assert [item["id"] for item in answer["items"]] == [failed[2], failed[1]]
    assert client.stats().counts[Status.FAILED] == 1
    entries = client.audit()
    assert sorted(entry.target for entry in entries) == sorted(failed[1:])
    assert {entry.reason for entry in entries} == {"the depot is open"}


def test_more_than_one_batch_is_changed_and_only_the_refused_are_skipped(
    holdfast: CommandLine, client: SyncClient
) -> None:
    chains = client.start_many([add.bind(a=n).options(delay=3600) for n in range(230)])
    waiting = client.start(total.bind().options(after=[chains[7].id]))

    answer = holdfast.json("delete", "--type", "add", "--yes", exit=1)

    assert (answer["matched"], answer["done"], answer["skipped"]) == (230, 229, 1)
    (skipped,) = [item for item in answer["items"] if not item["done"]]
    assert skipped["id"] == chains[7].id
    assert f"job {waiting.id} waits for chain" in skipped["error"]
    assert client.stats().counts[Status.PENDING] == 1
    text = holdfast("cancel", "--status", "blocked", "--status", "pending", "--yes")
    assert f"cancelled {waiting.id}" in text.out
    assert "cancelled 2 chains, 0 not cancelled" in text.err


def test_chains_that_wait_for_each_other_are_deleted_in_any_order(holdfast: CommandLine, client: SyncClient) -> None:
    first = client.start(add.bind(a=1))
    second = client.start(total.bind().options(after=[first.id]))
    blocker = client.start(add.bind(a=2))
    client.start(total.bind().options(after=[blocker.id]))

    answer = holdfast.json("delete", first.id, second.id, blocker.id, "--yes", exit=1)

    assert sorted(answer["deleted"]) == sorted([first.id, second.id])
    assert [item["id"] for item in answer["items"] if not item["done"]] == [blocker.id]


@pytest.mark.parametrize(("typed", "left"), [("y", 0), ("n", 3), ("", 3)])
def test_on_a_terminal_the_command_asks(
    client: SyncClient, store: str, failed: list[str], typed: str, left: int
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "holdfast.cli", "retry", "--type", "refuse", "--store", store]
    process = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True)
    os.close(theirs)
    os.write(ours, f"{typed}\n".encode())
    out, _ = process.communicate(timeout=60)
    asked = os.read(ours, 10_000).decode()
    os.close(ours)

    assert "retry 3 chains? [y/N]" in asked
    assert client.stats().counts[Status.FAILED] == left
    assert process.returncode == (0 if typed == "y" else 1)
    assert out.count("retried") == 3 - left


def test_a_dry_run_of_a_cascade_works_without_transactions(holdfast: CommandLine) -> None:
    address = shared_redis().address(new_namespace())
    with SyncClient(address) as client:
        first = client.start(add.bind(a=1))
        second = client.start(total.bind().options(after=[first.id]))
        third = client.start(total.bind().options(after=[second.id]))

        answer = holdfast.json("delete", third.id, "--cascade", "--dry-run", "--store", address)

        assert sorted(item["id"] for item in answer["items"]) == sorted([first.id, second.id, third.id])
        assert client.stats().counts[Status.BLOCKED] == 2
        assert holdfast.json("delete", third.id, "--cascade", "--yes", "--store", address)["done"] == 1
        assert client.list_chains().items == []
