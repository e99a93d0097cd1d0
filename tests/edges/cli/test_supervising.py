"""`supervise`: what it refuses before it starts anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.edges.cli.conftest import CommandLine


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.to:be"], "there is no module 'nowhere'"),
        (["tests.edges.cli.shop:add"], "not a Jobs registry"),
        (["--store", "memory://x"], "lives in one process"),
        (["--store", "nonsense://x"], "there is no store for nonsense"),
        (["--listen", "here"], "'here' is no address"),
    ],
)
def test_what_cannot_work_is_refused(holdfast: CommandLine, arguments: list[str], complaint: str) -> None:
    assert complaint in holdfast("supervise", *arguments, exit=2).err


def test_without_job_types_there_is_nothing_to_supervise(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_APP")

    assert "which job types?" in holdfast("supervise", exit=2).err


def test_a_group_with_a_type_that_nobody_knows_is_refused(holdfast: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_text('[workers.cpu]\ntypes = ["nobody"]\n')

    assert "no job type 'nobody'" in holdfast("supervise", exit=2).err


def test_a_port_that_is_taken_is_a_mistake(holdfast: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert "cannot listen" in holdfast("supervise", "--listen", f"127.0.0.1:{port}", exit=2).err
