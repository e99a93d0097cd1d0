"""The command line with several stores as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine, working


@pytest.fixture
def shards(tmp_path: Path) -> dict[str, str]:
    addresses = {name: f"sqlite:///{tmp_path}/{name}.db" for name in ("eu", "us")}
    with SyncClient(addresses):
        pass
    return addresses


@pytest.fixture
def options(shards: dict[str, str]) -> list[str]:
    return [text for name, address in shards.items() for text in ("--store", f"{name}={address}")]


def test_commands_cover_all_shards(holdfast: CommandLine, shards: dict[str, str], options: list[str]) -> None:
    ids = [holdfast.start("add", "--shard", name, *options, a=1) for name in ("eu", "us", "us")]

    assert [id.partition("~")[0] for id in ids] == ["eu", "us", "us"]
    assert {each["id"] for each in holdfast.json("list", *options)["items"]} == {*ids}
    assert holdfast.json("show", ids[1], *options)["id"] == ids[1]
    with working(" ".join(f"{name}={address}" for name, address in shards.items())):
        assert [holdfast.json("wait", id, *options)["status"] for id in ids] == ["completed"] * 3
    holdfast("delete", *ids, "--yes", *options)
    assert holdfast.json("list", *options)["items"] == []


def test_reports_and_changes_cover_all_shards(holdfast: CommandLine, options: list[str]) -> None:
    ids = [holdfast.start("add", "--shard", name, *options, a=1) for name in ("eu", "us", "us")]

    assert holdfast.json("stats", *options)["types"][0]["total"]["started"] == 3
    assert holdfast.json("backlog", *options)["due"] == 3
    assert [holdfast.json("explain", id, *options)["claimable"] for id in ids] == [True] * 3
    holdfast("pause", "add", *options)
    assert [holdfast.json("explain", id, *options)["claimable"] for id in ids] == [False] * 3
    holdfast("resume", "add", *options)
    holdfast("schedule", "nightly", "add", "--input", '{"a": 1}', "--cron", "0 2 * * *", *options)
    assert [each["name"] for each in holdfast.json("schedules", *options)["schedules"]] == ["nightly"]
    assert holdfast.json("fire", "nightly", *options)["id"] in {
        each["id"] for each in holdfast.json("list", *options)["items"]
    }
    holdfast("cancel", *ids, *options)
    assert {holdfast.json("show", id, *options)["status"] for id in ids} == {"cancelled"}


def test_one_variable_names_all_shards(
    holdfast: CommandLine, shards: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", " ".join(f"{name}={address}" for name, address in shards.items()))

    assert holdfast.start("add", "--shard", "us", a=1).startswith("us~")
    assert holdfast.json("doctor")["findings"]


def test_the_file_names_the_shards(
    holdfast: CommandLine, shards: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_STORE")
    lines = "".join(f'{name} = "{address}"\n' for name, address in shards.items())
    (tmp_path / "holdfast.toml").write_text(f"[stores]\n{lines}")

    assert holdfast.start("add", "--shard", "eu", a=1).startswith("eu~")


def test_doctor_reports_chains_on_the_wrong_shard(holdfast: CommandLine, shards: dict[str, str]) -> None:
    right = [text for name, address in shards.items() for text in ("--store", f"{name}={address}")]
    holdfast.start("add", "--shard", "eu", *right, a=1)
    exchanged = ["--store", f"eu={shards['us']}", "--store", f"us={shards['eu']}"]

    found = holdfast.json("doctor", *exchanged, exit=1)["findings"]

    assert [each["subject"] for each in found if each["level"] == "error"] == ["us: placement"]


def test_several_stores_need_names(holdfast: CommandLine, shards: dict[str, str]) -> None:
    answer = holdfast("list", *(text for address in shards.values() for text in ("--store", address)), exit=2)

    assert "NAME=URL" in answer.err


def test_passwords_of_all_shards_are_masked(holdfast: CommandLine) -> None:
    answer = holdfast(
        "config", "--store", "eu=postgresql://app:s3cret@eu/jobs", "--store", "us=postgresql://app:hidden@us/jobs"
    )

    assert "s3cret" not in answer.out + answer.err
    assert "hidden" not in answer.out + answer.err
    assert "eu=postgresql://app:***@eu/jobs us=postgresql://app:***@us/jobs" in answer.out
