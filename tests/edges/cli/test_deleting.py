"""`delete` and `prune`."""

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine, working


def test_nothing_is_deleted_without_a_yes(holdfast: CommandLine, client: SyncClient) -> None:
    chain_id = holdfast.start("add", a=1)

    answer = holdfast("delete", chain_id, exit=2)

    assert "would delete 1 chain for good; add --yes" in answer.err
    assert client.get(chain_id) is not None


def test_a_dry_run_lists_what_would_be_deleted_and_deletes_nothing(holdfast: CommandLine, client: SyncClient) -> None:
    blocker = holdfast.start("add", a=1)
    chain_id = holdfast.start("total", "--after", blocker)

    alone = holdfast.json("delete", chain_id, "--dry-run")
    cascade = holdfast.json("delete", chain_id, "--cascade", "--dry-run")

    item = {"id": chain_id, "type": "total", "status": "blocked", "error": None}
    assert alone == {"dry_run": True, "matched": 1, "items": [item]}
    assert sorted(item["id"] for item in cascade["items"]) == sorted([blocker, chain_id])
    assert len(client.list_chains().items) == 2


def test_delete_with_cascade_deletes_the_blockers(holdfast: CommandLine, client: SyncClient) -> None:
    blocker = holdfast.start("add", a=1)
    chain_id = holdfast.start("total", "--after", blocker)

    deleted = holdfast.json("delete", chain_id, "--cascade", "--yes")["deleted"]

    assert sorted(deleted) == sorted([blocker, chain_id])
    assert not client.list_chains().items


def test_a_chain_that_another_waits_for_stays(holdfast: CommandLine, client: SyncClient) -> None:
    blocker = holdfast.start("add", a=1)
    waiting = holdfast.start("total", "--after", blocker)

    for how in ("--yes", "--dry-run"):
        assert f"job {waiting} waits for chain {blocker}" in holdfast("delete", blocker, how, exit=1).err
    assert client.get(blocker) is not None


def test_a_filter_deletes_all_it_finds(holdfast: CommandLine, client: SyncClient) -> None:
    cancelled = holdfast.start("add", a=1)
    kept = holdfast.start("add", a=1)
    holdfast("cancel", cancelled)

    assert holdfast.json("delete", "--status", "cancelled", "--yes") == {
        "matched": 1,
        "done": 1,
        "skipped": 0,
        "items": [{"id": cancelled, "done": True}],
        "deleted": [cancelled],
    }
    assert [chain.id for chain in client.list_chains().items] == [kept]


def test_what_is_not_there_is_exit_code_3(holdfast: CommandLine) -> None:
    for how in ((), ("--yes",), ("--dry-run",)):
        answer = holdfast("delete", "missing", *how, exit=3)
        assert "missing" in answer.err
        assert "--yes" not in answer.err


def test_prune_deletes_what_is_past_its_keep_time(holdfast: CommandLine, client: SyncClient, store: str) -> None:
    gone, kept = holdfast.start("forget"), holdfast.start("add", a=1)
    with working(store):
        client.wait(kept, timeout=60)
        client.wait(holdfast.start("add", a=2), timeout=60)

    assert holdfast.json("prune") == {"pruned": 1}
    assert holdfast("prune").out == "pruned 0 chains\n"
    assert client.get(gone) is None
    assert client.get(kept) is not None
