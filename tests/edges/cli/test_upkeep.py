"""`migrate` and `doctor`, and stores that cannot be reached."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast import Jobs, SyncClient
from holdfast.stores.memory import MemoryStore
from tests.edges.cli.conftest import APP, CommandLine
from tests.edges.cli.shop import approve
from tests.servers.postgres import shared_postgres

ALL = [
    ["status"], ["list"], ["show", "x"], ["explain", "x"], ["report", "x"], ["wait", "x"], ["retry", "x"],
    ["cancel", "x"], ["run-now", "x"], ["delete", "x", "--yes"], ["pause", "x"], ["resume", "x"], ["prune"], ["doctor"],
]  # fmt: skip


def test_migrate_prints_its_steps_and_may_be_repeated(holdfast: CommandLine, tmp_path: Path) -> None:
    new = f"sqlite:///{tmp_path}/new.db"

    first = holdfast.json("migrate", "--store", new)
    second = holdfast("migrate", "--store", new)

    assert first["applied"]
    assert "nothing to do" in second.out


def new_file(folder: Path) -> str:
    return f"sqlite:///{folder}/new.db"


def new_schema(_folder: Path) -> str:
    return shared_postgres().address(schema=f"h{uuid4().hex[:12]}")


@pytest.mark.parametrize("address", [new_file, new_schema], ids=["sqlite", "postgres"])
def test_migrate_check_changes_nothing(holdfast: CommandLine, tmp_path: Path, address: Callable[[Path], str]) -> None:
    new = address(tmp_path)

    pending = holdfast.json("migrate", "--check", "--store", new, exit=1)["pending"]
    assert holdfast.json("migrate", "--check", "--store", new, exit=1)["pending"] == pending
    assert holdfast.json("migrate", "--store", new)["applied"] == pending
    assert "up to date" in holdfast("migrate", "--check", "--store", new).out
    holdfast("migrate", "--check", "--sql", "--store", new, exit=2)


def test_a_store_that_makes_its_own_tables_has_no_script(holdfast: CommandLine, tmp_path: Path) -> None:
    answer = holdfast("migrate", "--sql", "--store", f"sqlite:///{tmp_path}/new.db", exit=2)

    assert "needs no script" in answer.err
    assert not (tmp_path / "new.db").exists()


def test_doctor_finds_nothing_wrong_with_a_new_store(holdfast: CommandLine) -> None:
    document = holdfast.json("doctor")

    assert document["healthy"] is True
    assert {"version", "app", "store", "integrity"} <= {finding["subject"] for finding in document["findings"]}
    assert "integrity" in holdfast("doctor").out


def test_doctor_names_the_oldest_due_job_and_what_no_handler_takes(holdfast: CommandLine, client: SyncClient) -> None:
    @Jobs().job
    def nohandler() -> None: ...

    client.start(nohandler.bind())

    findings = {each["subject"]: each for each in holdfast.json("doctor", "--app", APP)["findings"]}

    assert findings["nohandler"]["detail"] == "1 due, no handler in tests.edges.cli.shop:jobs"
    assert "'nohandler' has been due for" in findings["oldest due job"]["detail"]


def test_doctor_finds_nothing_wrong_with_external_jobs(
    holdfast: CommandLine, client: SyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.stores.late_jobs.LATE", -1)
    client.start(approve.bind(order=7))

    findings = {each["subject"]: each for each in holdfast.json("doctor", "--app", APP)["findings"]}

    assert findings["approve"]["level"] == "ok"
    assert findings["approve"]["detail"].startswith("1 waits for an external completion")
    assert (findings["oldest due job"]["level"], findings["oldest due job"]["detail"]) == ("ok", "none")


def test_doctor_reports_the_settings_without_a_store(holdfast: CommandLine) -> None:
    document = holdfast.json("doctor", "--store", "sqlite:///typo.db", exit=5)

    levels = {each["subject"]: each["level"] for each in document["findings"]}
    assert levels == {"version": "ok", "file": "ok", "address": "ok", "app": "ok", "store": "error"}
    assert "there is no such file" in document["findings"][-1]["detail"]


def test_doctor_does_not_call_a_store_well_whose_tables_are_missing(holdfast: CommandLine) -> None:
    address = shared_postgres().address(schema="nothing_here")

    findings = holdfast.json("doctor", "--store", address, exit=5)["findings"]

    assert [each["level"] for each in findings if each["subject"] == "store"] == ["error"]


def test_doctor_names_the_source_of_the_wake_ups(holdfast: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('wakeups = "redis://localhost:1"\n')

    def reported(store: str) -> str:
        findings = holdfast.json("doctor", "--store", store)["findings"]
        return str(next(each["detail"] for each in findings if each["detail"].find("holdfast.toml") > 0))

    assert reported(holdfast.store) == "from holdfast.toml"
    assert reported(f"{holdfast.store}?wakeups=").startswith("those from holdfast.toml are not used")


def test_doctor_ends_with_exit_code_1_if_there_is_an_error(holdfast: CommandLine) -> None:
    document = holdfast.json("doctor", "--app", "nowhere:jobs", exit=1)

    (error,) = [finding for finding in document["findings"] if finding["level"] == "error"]
    assert (document["healthy"], error["subject"]) == (False, "app")
    assert "1 error" in holdfast("doctor", "--app", "nowhere:jobs", exit=1).out


@pytest.mark.parametrize("command", ALL, ids=lambda command: command[0])
def test_looking_for_a_store_does_not_make_one(holdfast: CommandLine, tmp_path: Path, command: list[str]) -> None:
    answer = holdfast(*command, "--store", f"sqlite:///{tmp_path}/typo.db", exit=5)

    assert "there is no such file" in answer.err
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("command", ALL, ids=lambda command: command[0])
def test_a_file_that_is_no_store_is_exit_code_5(holdfast: CommandLine, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "letter.db").write_text("Dear Ada, " * 1000)

    answer = holdfast(*command, "--store", "sqlite:///letter.db", exit=5)

    assert "not a" in answer.err


def test_a_folder_that_is_not_there_is_exit_code_5(holdfast: CommandLine) -> None:
    for command in (["migrate"], ["start", "add", "--input", '{"a": 1}'], ["worker"]):
        assert "nowhere" in holdfast(*command, "--store", "sqlite:///nowhere/jobs.db", exit=5).err


def test_a_password_on_the_command_line_earns_a_warning_and_is_never_shown(
    holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, wakeups: None) -> MemoryStore:
        raise ValueError(f"no route to {address}")

    monkeypatch.setattr("holdfast.client.sync_client.open_store", refuse)
    address = "postgresql://app:s3cret%21@db/x"

    typed = holdfast("list", "--store", address, "--json", exit=2)
    monkeypatch.setenv("HOLDFAST_STORE", address)
    reported = holdfast("list", exit=2)

    assert "warning: a password on the command line" in typed.err
    assert "warning" not in reported.err
    assert "no route to postgresql://app:***@db/x" in typed.err
    assert "s3cret" not in typed.err + typed.out + reported.err + reported.out
