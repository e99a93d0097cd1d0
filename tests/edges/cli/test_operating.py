"""`retry`, `cancel`, `run-now`, `pause` and `resume`."""

import pytest

from holdfast import Jobs, Status, SyncClient
from tests.edges.cli.conftest import APP, CommandLine, working


@pytest.fixture
def failed(holdfast: CommandLine, store: str) -> list[str]:
    """Chains that failed."""
    ids = [holdfast.start("refuse", reason="closed"), holdfast.start("refuse", reason="closed")]
    with working(store):
        for id in ids:
            holdfast("wait", id, "--timeout", "20s", exit=1)
    return ids


def test_what_failed_runs_again(holdfast: CommandLine, client: SyncClient, failed: list[str]) -> None:
    answer = holdfast.json("retry", *failed)

    assert (answer["matched"], answer["done"], answer["skipped"]) == (2, 2, 0)
    assert [chain.status for chain in client.list_chains().items] == ["pending", "pending"]


def test_a_filter_means_all_that_failed(holdfast: CommandLine, client: SyncClient, failed: list[str]) -> None:
    pending = holdfast.start("refuse", reason="closed")

    answer = holdfast.json("retry", "--type", "refuse", "--yes")

    assert sorted(item["id"] for item in answer["items"]) == sorted(failed)
    assert client.get(pending) is not None


def test_ids_may_come_from_stdin(holdfast: CommandLine, failed: list[str]) -> None:
    answer = holdfast("retry", "-", input="\n".join(failed) + "\n")

    assert all(f"retried {id}" in answer.out for id in failed)


def test_ids_that_are_no_text_are_a_mistake(holdfast: CommandLine) -> None:
    assert "is not text" in holdfast("retry", "-", input="a\0b\n", exit=2).err
    assert "is not text" in holdfast("cancel", "\udcff", exit=2).err


def test_one_that_is_refused_does_not_keep_the_others_from_it(holdfast: CommandLine, failed: list[str]) -> None:
    pending = holdfast.start("add", a=1)

    answer = holdfast.json("retry", pending, "missing", failed[0], exit=1)

    assert {item["id"]: item["done"] for item in answer["items"]} == {pending: False, "missing": False, failed[0]: True}
    assert "is pending" in answer["items"][0]["error"]
    refused = holdfast("retry", pending, "missing", exit=1).err
    assert f"not retried: job '{pending}' is pending" in refused
    assert "retried 0 chains, 2 not retried" in refused
    assert "not retried: " in holdfast("retry", "missing", exit=3).err
    assert "not cancelled: " in holdfast("cancel", "missing", exit=3).err


def test_retry_without_saying_which_is_a_mistake(holdfast: CommandLine) -> None:
    assert "which ones?" in holdfast("retry", exit=2).err
    assert "not both" in holdfast("retry", "x", "--type", "add", exit=2).err


def test_a_cancelled_chain_never_starts(holdfast: CommandLine, client: SyncClient) -> None:
    chain_id = holdfast.start("add", a=1)

    holdfast("cancel", chain_id, "--reason", "changed my mind")

    chain = client.get(chain_id)
    assert chain is not None
    assert (chain.status, chain.error) == ("cancelled", "Cancelled: changed my mind")


@pytest.mark.usefixtures("worker")
def test_cancelling_a_completed_chain_is_refused(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=1)
    holdfast("wait", chain_id, "--timeout", "20s")

    assert "already finished" in holdfast("cancel", chain_id, exit=1).err


def test_cancelling_by_filter_needs_a_yes(holdfast: CommandLine, client: SyncClient) -> None:
    ids = [holdfast.start("add", a=1), holdfast.start("add", "--delay", "1h", a=1)]

    asked = holdfast("cancel", "--type", "add", exit=2)
    assert "would cancel 2 chains" in asked.err
    assert client.stats().counts[Status.PENDING] == 2

    done = holdfast.json("cancel", "--type", "add", "--yes")
    assert sorted(item["id"] for item in done["items"]) == sorted(ids)


def test_a_scheduled_job_can_be_made_due(holdfast: CommandLine, client: SyncClient) -> None:
    chain_id = holdfast.start("add", "--delay", "1h", a=1)

    assert holdfast("run-now", chain_id).out == f"made due {chain_id}\n"

    assert client.stats().due == 1
    assert holdfast.json("run-now", "missing", exit=3)["skipped"] == 1
    assert "not made due: " in holdfast("run-now", "missing", exit=3).err


def test_a_paused_type_is_not_claimed_until_it_is_resumed(holdfast: CommandLine, store: str) -> None:
    holdfast("pause", "add", "twice")
    chain_id = holdfast.start("add", a=1)

    with working(store):
        other = holdfast.start("total")
        holdfast("wait", other, "--timeout", "20s")
        assert holdfast.json("show", chain_id)["status"] == "pending"

        assert holdfast.json("resume", "add", "twice") == {"resumed": ["add", "twice"]}
        holdfast("wait", chain_id, "--timeout", "20s")


def test_a_type_that_neither_the_app_nor_the_store_has_cannot_be_paused(
    holdfast: CommandLine, client: SyncClient
) -> None:
    refused = holdfast("pause", "ad", "--app", APP, exit=2).err

    assert (
        "tests.edges.cli.shop:jobs has no job type 'ad', and the store has no job of it; did you mean add?" in refused
    )
    assert not client.stats().types


def test_a_type_that_only_the_store_has_can_be_paused(holdfast: CommandLine, client: SyncClient) -> None:
    @Jobs().job
    def unrelated() -> None: ...

    client.start(unrelated.bind())

    assert holdfast("pause", "unrelated", "--app", APP).err == ""
    assert holdfast("resume", "unrelated").err == ""
    assert "warning: unrelated was not paused" in holdfast("resume", "unrelated").err


@pytest.mark.parametrize("app", ["", "nowhere:jobs"])
def test_without_an_app_an_unknown_type_causes_a_warning(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch, app: str
) -> None:
    monkeypatch.setenv("HOLDFAST_APP", app)

    paused = holdfast("pause", "later")

    assert "warning: the store has no job of a type 'later'" in paused.err
    assert "paused later" in paused.out
    assert "warning" not in holdfast("pause", "later").err, "now the store knows it"
