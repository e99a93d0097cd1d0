"""`supervise`: what it refuses before it starts anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from holdfast import StoreUnavailable, SyncClient
from holdfast.supervisor import Supervisor
from tests.edges.cli.conftest import CommandLine
from tests.servers.postgres import shared_postgres


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.to:be"], "there is no module 'nowhere'"),
        (["tests.edges.cli.shop:add"], "not a Jobs registry"),
        (["--store", "memory://x"], "exists in one process only"),
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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[workers.cpu]\n\ntypes = ["missing"]\n', "line 3, workers.cpu.types: group 'cpu': no job type 'missing'"),
        ('[workers.cpu]\nqueues = ["missing"]\n', "line 2, workers.cpu.queues: group 'cpu': no queue 'missing'"),
        ('[workers]\nqueues = ["missing"]\n', "line 2, workers.queues: group 'default': no queue 'missing'"),
        ('[workers]\ntypes = ["add"]\n', "line 2, workers.types: group 'default': no group takes job type"),
        (
            '[workers.one]\ntypes = ["add"]\n[workers.two]\ntypes = ["add"]\n',
            "line 4, workers.two.types: group 'two': job type 'add' belongs to group 'one' already",
        ),
    ],
)
def test_an_unknown_type_of_a_group_is_refused_with_file_line_and_key(
    holdfast: CommandLine, tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_text(text)

    refused = holdfast("supervise", exit=2).err

    assert complaint in refused
    assert str(path) in refused or path.name in refused


@pytest.mark.parametrize(("clean", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_shows_whether_every_process_exited(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch, clean: bool, code: int
) -> None:
    async def run(supervisor: Supervisor) -> None:
        supervisor.clean = clean

    monkeypatch.setattr(Supervisor, "run", run)

    assert holdfast.json("supervise", exit=code) == {"stopped": True, "clean": clean}


@pytest.mark.parametrize("command", ["supervise", "worker"])
def test_a_store_without_tables_is_refused_in_one_line_that_says_how_to_make_them(
    holdfast: CommandLine, command: str
) -> None:
    address = shared_postgres().address(schema="nothing_here")

    refused = holdfast(command, "--store", address, exit=5).err

    assert "Run `holdfast migrate`" in refused
    assert len(refused.splitlines()) == 1


def test_a_wrong_password_is_refused_and_a_store_that_is_away_is_waited_for(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(supervisor: Supervisor) -> None: ...

    def refuse(client: SyncClient) -> None:
        raise StoreUnavailable("postgresql://db", trouble)

    monkeypatch.setattr(Supervisor, "run", run)
    monkeypatch.setattr(SyncClient, "open", refuse)

    trouble = 'FATAL: password authentication failed for user "app"'
    assert "authentication failed" in holdfast("supervise", exit=5).err
    trouble = "connection refused"
    assert "the supervisor starts and waits for it" in holdfast("supervise").err


def test_a_port_that_is_taken_is_a_mistake(holdfast: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert "cannot listen" in holdfast("supervise", "--listen", f"127.0.0.1:{port}", exit=2).err
