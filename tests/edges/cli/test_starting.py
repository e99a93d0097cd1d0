"""`start` and `wait`: their answers, and the exit codes that scripts rely on."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine


def test_start_answers_with_the_chain(holdfast: CommandLine, client: SyncClient) -> None:
    answer = holdfast("start", "add", "--input", '{"a": 1}')

    (chain,) = client.list_chains().items
    assert chain.id in answer.out
    assert chain.job.input == {"a": 1, "b": 2}


def test_options_come_before_or_after_the_command(holdfast: CommandLine, store: str) -> None:
    before = holdfast("--json", "--store", store, "start", "add", "--input", '{"a": 1}').document
    after = holdfast("start", "add", "--input", '{"a": 1}', "--store", store, "--json").document

    assert before["type"] == after["type"] == "add"


def test_start_takes_what_a_start_takes(holdfast: CommandLine, client: SyncClient) -> None:
    first = holdfast.start("add", a=1)
    chain_id = holdfast.start(
        "total", "--key", "k", "--delay", "1h", "--priority", "5", "--max-attempts", "3", "--after", first, "--id", "me"
    )

    chain = client.get(chain_id)
    assert chain is not None
    assert (chain.id, chain.key, chain.status) == ("me", "k", "blocked")
    assert (chain.job.priority, chain.job.max_attempts) == (5, 3)
    assert chain.scheduled_at is not None
    assert (chain.scheduled_at - chain.created_at).total_seconds() == pytest.approx(3600, abs=1)


def test_start_needs_the_declared_blockers(holdfast: CommandLine, client: SyncClient) -> None:
    first, second = holdfast.start("add", a=1), holdfast.start("twice", a=1)

    missing = holdfast("start", "compare", exit=2)
    swapped = holdfast("start", "compare", "--after", second, "--after", first, exit=2)
    chain_id = holdfast.start("compare", "--after", first, "--after", second)

    assert "2 different chains, of type add, twice; after is missing" in missing.err
    assert f"after= needs a chain of type 'add' here, and chain '{second}' is of type 'twice'" in swapped.err
    assert [chain.id for chain in client.list_chains(type="compare").items] == [chain_id]


def test_a_key_finds_the_chain_that_has_it(holdfast: CommandLine) -> None:
    first = holdfast.json("start", "add", "--input", '{"a": 1}', "--key", "k")
    second = holdfast.json("start", "add", "--input", '{"a": 1}', "--key", "k")

    assert (first["deduplicated"], second["deduplicated"]) == (False, True)
    assert first["id"] == second["id"]


def test_a_chain_may_wait_for_a_failure_or_an_end(holdfast: CommandLine, client: SyncClient) -> None:
    first = holdfast.start("add", a=1)
    failed = holdfast.json("start", "rest", "--after", first, "--when", "failed")
    ended = holdfast.json("start", "rest", "--after", first, "--when", "ended")
    assert (failed["status"], ended["status"]) == ("blocked", "blocked")
    shown = holdfast.json("explain", failed["id"])["reasons"][0]["text"]
    assert shown == f"It waits for a failure of one of 1 chain: {first} (add, pending)."
    assert "It waits for the end of 1 chain" in holdfast("explain", ended["id"]).out

    holdfast("cancel", first)

    assert [str(chain.status) for chain in client.list_chains(type="rest").items] == ["pending", "pending"]
    assert "needs after=" in holdfast("start", "rest", "--when", "failed", exit=2).err
    assert "when must be one of" in holdfast("start", "rest", "--after", first, "--when", "x", exit=2).err


def test_replace_and_debounce_change_the_chain_that_has_not_begun(holdfast: CommandLine, client: SyncClient) -> None:
    first = holdfast.json("start", "add", "--input", '{"a": 1}', "--key", "k", "--delay", "1h")
    second = holdfast.json("start", "add", "--input", '{"a": 2}', "--key", "k", "--replace")
    found = client.get(first["id"])
    third = holdfast.json(
        "start", "add", "--input", '{"a": 3}', "--key", "k", "--debounce", "10m", "--debounce-max", "5m"
    )
    last = client.get(first["id"])

    assert [each["deduplicated"] for each in (first, second, third)] == [False, True, True]
    assert first["id"] == second["id"] == third["id"]
    assert found is not None
    assert found.scheduled_at is not None
    assert (found.job.input["a"], (found.scheduled_at - found.created_at).total_seconds() < 600) == (2, True)
    assert last is not None
    assert (last.job.input["a"], last.scheduled_at) == (3, last.created_at + timedelta(seconds=300))


def test_the_input_may_come_from_a_file_or_from_stdin(
    holdfast: CommandLine, client: SyncClient, tmp_path: Path
) -> None:
    (tmp_path / "input.json").write_text('{"a": 7}')

    holdfast("start", "add", "--input", "@input.json")
    holdfast("start", "add", "--input", "-", input='{"a": 8}')

    assert [chain.job.input["a"] for chain in client.list_chains().items] == [8, 7]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nope"], "unknown job type 'nope' (declared here: add"),
        (["add", "--input", '{"a": "x"}'], "expected int, got str"),
        (["add", "--input", "{}"], "missing required field a"),
        (["add", "--input", '{"a": 1, "zz": 2}'], "unknown field zz"),
        (["add", "--input", '{"a": 1'], "add: the input"),
        (["add", "--input", "@gone.json"], "No such file"),
        (["add", "--input", '{"a": 1}', "--delay", "soon"], "'soon' is no duration"),
        (["add", "--input", '{"a": 1}', "--at", "noon"], "'noon' is no time"),
        (["add", "--input", '{"a": 1}', "--dedup", "x", "--key", "k"], "dedup must be one of"),
        (["add", "--input", '{"a": 1}', "--replace"], "replace needs a key"),
        (["add", "--input", '{"a": 1}', "--key", "k", "--debounce-max", "9"], "needs debounce"),
        (["add", "--input", '{"a": 1}', "--max-attempts", "0"], "max_attempts must be at least 1"),
        (["add", "--input", '{"a": 1}', "--timeout", "3s"], "--timeout is for --wait"),
        (["add", "--input", '{"a": 1}', "--app", "nowhere:jobs"], "there is no module 'nowhere'"),
        (["add", "--input", '{"a": 1}', "--store", "nonsense"], "the address of a store begins with"),
        (["add", "--config", "gone.toml"], "gone.toml"),
    ],
)
def test_a_mistake_is_one_line_with_exit_code_2(
    holdfast: CommandLine, client: SyncClient, arguments: list[str], complaint: str
) -> None:
    answer = holdfast("start", *arguments, exit=2)

    assert complaint in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""
    assert not client.list_chains().items


def test_a_mistake_is_a_document_too_for_programs(holdfast: CommandLine) -> None:
    error = holdfast.json("start", "nope", exit=2)["error"]

    assert (error["kind"], error["exit"]) == ("UnknownJobType", 2)


def test_an_unknown_blocker_is_not_found(holdfast: CommandLine) -> None:
    holdfast("start", "add", "--input", '{"a": 1}', "--after", "missing", exit=3)


@pytest.mark.usefixtures("worker")
def test_wait_prints_the_output(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("twice", a=4)

    assert holdfast("wait", chain_id, "--timeout", "20s").out == "8\n"
    assert holdfast.json("wait", chain_id)["output"] == 8
    assert holdfast("start", "add", "--input", '{"a": 1}', "--wait", "--timeout", "20s").out == "3\n"


@pytest.mark.usefixtures("worker")
def test_a_chain_that_failed_is_exit_code_1(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("refuse", reason="out of stock")

    document = holdfast.json("wait", chain_id, "--timeout", "20s", exit=1)
    shown = holdfast("wait", chain_id, exit=1)

    assert (document["status"], document["error"]) == ("failed", "Fail: out of stock")
    assert "Fail: out of stock" in shown.out


def test_a_chain_that_was_cancelled_is_exit_code_1(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=1)
    holdfast("cancel", chain_id)

    assert holdfast.json("wait", chain_id, exit=1)["status"] == "cancelled"


def test_a_wait_that_ends_before_the_chain_is_exit_code_4(holdfast: CommandLine) -> None:
    answer = holdfast("wait", holdfast.start("add", a=1), "--timeout", "50ms", exit=4)

    assert "it continues" in answer.err


def test_a_chain_that_is_not_there_is_exit_code_3(holdfast: CommandLine) -> None:
    holdfast("wait", "missing", exit=3)

    assert holdfast.json("wait", "missing", exit=3)["error"]["kind"] == "ChainNotFound"
