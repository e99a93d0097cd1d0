"""Hints that processes append to the wake file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.sqlite.wakeups import hint_log, hint_table
from holdfast.stores.sqlite.wakeups.hint_log import HintLog, HintLogReader, wake_file
from tests.stores.sqlite.descriptors import under

SOURCE = "other"
RESIZE = Hints(due={"resize"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log checks its file before each line."""
    monkeypatch.setattr(hint_log, "CHECK_SECONDS", 0.0)


@pytest.fixture
def log(file: Path) -> Generator[HintLog]:
    with closing(HintLog(file, SOURCE)) as log:
        yield log


@pytest.fixture
def reader(file: Path, log: HintLog) -> Generator[HintLogReader]:
    with closing(HintLogReader(file, "reader")) as reader:
        yield reader


def test_a_reader_receives_every_hint_once(log: HintLog, reader: HintLogReader) -> None:
    every = Hints({"resize"}, {"chain"}, {"job"}, recorded=True, workers={"worker"})
    log.append(every)
    log.append(RESIZE)

    assert reader.read() == every
    assert reader.read() == Hints()
    log.append(RESIZE)
    assert reader.read() == RESIZE


def test_a_reader_receives_no_hints_from_before_it(file: Path, log: HintLog) -> None:
    for _ in range(2000):  # more than is read at once
        log.append(RESIZE)

    with closing(HintLogReader(file, "reader")) as reader:
        assert reader.read() == Hints()
        log.append(RESIZE)
        assert reader.read() == RESIZE


def test_a_reader_that_is_far_behind_receives_anything(log: HintLog, reader: HintLogReader) -> None:
    for _ in range(5000):
        log.append(RESIZE)

    assert reader.read() == ANYTHING
    log.append(RESIZE)
    assert reader.read() == RESIZE


def test_a_process_ignores_its_own_hints(file: Path, log: HintLog) -> None:
    with closing(HintLogReader(file, SOURCE)) as reader, closing(HintLog(file, "third")) as third:
        log.append(Hints(finished={"mine"}))
        third.append(RESIZE)

        assert reader.read() == RESIZE


@pytest.mark.parametrize("kind", ["due", "finished", "lost", "workers"])
def test_many_hints_are_sent_as_anything(log: HintLog, reader: HintLogReader, kind: str) -> None:
    hints = Hints()
    getattr(hints, kind).update(str(number) for number in range(hint_table.LARGEST + 1))
    log.append(hints)

    assert reader.read() == ANYTHING


def test_an_incomplete_line_is_read_when_it_is_complete(file: Path, reader: HintLogReader) -> None:
    with wake_file(file).open("ab", buffering=0) as written:
        written.write(b'third 0 {"due"')
        assert reader.read() == Hints()

        written.write(b':["resize"]}\n')

        assert reader.read() == RESIZE


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"x\n",
        b"third 0 {\n",
        b"third 0 \xff\n",
        b'third 0 {"due":1}\n',
        b"\0\0\0\n",
        b'third 0 {"other":' + b"[" * 100_000 + b"\n",
    ],
    ids=range(7),
)
def test_a_line_in_another_format_means_anything(file: Path, reader: HintLogReader, line: bytes) -> None:
    with wake_file(file).open("ab", buffering=0) as written:
        written.write(line)

    assert reader.read() == ANYTHING


@pytest.mark.usefixtures("checked")
def test_a_long_log_begins_again_and_its_readers_receive_anything(
    file: Path, log: HintLog, reader: HintLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hint_log, "MOST_BYTES", 10_000)
    largest = restarts = 0

    for _ in range(2000):
        log.append(RESIZE)
        largest = max(largest, wake_file(file).stat().st_size)
        restarts += reader.read().anything

    assert restarts >= 3
    assert largest < 10_200


@pytest.mark.usefixtures("checked")
def test_a_reader_that_stopped_for_a_while_notices_that_the_log_began_again(
    log: HintLog, reader: HintLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hint_log, "MOST_BYTES", 1000)
    received: list[Hints] = []
    for _ in range(30):
        # The log begins again several times, and is about as long as before whenever it is read.
        for _ in range(101):
            log.append(RESIZE)
        received.append(reader.read())

    assert all(hints.anything for hints in received)


def test_a_reader_that_saw_an_empty_log_notices_that_it_began_again_twice(
    file: Path, log: HintLog, reader: HintLogReader
) -> None:
    os.truncate(wake_file(file), 0)
    assert reader.read() == ANYTHING
    assert reader.read() == Hints()

    log.append(Hints(due={"missed"}))
    os.truncate(wake_file(file), 0)
    log.append(RESIZE)

    assert reader.read() == ANYTHING
    log.append(RESIZE)
    assert reader.read() == RESIZE


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_every_line_reaches_readers_after_the_file_is_gone(
    file: Path, log: HintLog, reader: HintLogReader, how: str
) -> None:
    if how == "removed":
        wake_file(file).unlink()
    else:
        wake_file(file).rename(file.with_name("elsewhere"))
    with closing(HintLog(file, "third")):  # another process creates the file again
        assert reader.read() == ANYTHING

        for _ in range(10):
            log.append(RESIZE)
            assert reader.read() == RESIZE


@pytest.mark.usefixtures("checked")
def test_a_line_creates_a_removed_file_again(file: Path, log: HintLog, reader: HintLogReader) -> None:
    wake_file(file).unlink()
    log.append(RESIZE)

    assert reader.read() == ANYTHING
    log.append(RESIZE)
    assert reader.read() == RESIZE


def test_the_file_is_checked_once_in_a_while_and_not_before_each_line(
    file: Path, log: HintLog, reader: HintLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.stores.sqlite.wakeups.hint_log.time.monotonic", lambda: now)
    log.append(RESIZE)
    wake_file(file).unlink()
    for _ in range(10):
        log.append(RESIZE)
    assert not wake_file(file).exists()

    now += hint_log.CHECK_SECONDS
    log.append(RESIZE)

    assert wake_file(file).exists()
    assert reader.read() == RESIZE  # the lines of the removed file, which is still open
    assert reader.read() == ANYTHING


@pytest.mark.usefixtures("checked")
def test_a_log_that_cannot_be_opened_again_reaches_no_readers_until_it_can(
    file: Path, log: HintLog, reader: HintLogReader, tmp_path: Path
) -> None:
    wake_file(file).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    wake_file(file).symlink_to(elsewhere)
    log.append(RESIZE)
    assert not log.reaches_readers
    assert [reader.read() for _ in range(3)] == [ANYTHING, Hints(), Hints()]

    wake_file(file).unlink()
    log.append(RESIZE)

    assert log.reaches_readers
    assert reader.read() == ANYTHING
    log.append(RESIZE)
    assert reader.read() == RESIZE


def test_a_reader_waits_for_a_file_that_is_missing(file: Path) -> None:
    with closing(HintLogReader(file, "reader")) as reader:
        assert reader.read() == Hints()
        with closing(HintLog(file, SOURCE)) as log:
            assert reader.read() == ANYTHING
            log.append(RESIZE)
            assert reader.read() == RESIZE


def test_a_line_that_does_not_fit_on_the_disk_begins_the_log_again(
    file: Path, log: HintLog, reader: HintLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(RESIZE)
    reader.read()
    write = os.write

    def write_on_full_disk(fd: int, data: bytes) -> int:
        if os.fstat(fd).st_size > 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    with monkeypatch.context() as full:
        full.setattr(os, "write", write_on_full_disk)
        log.append(RESIZE)

    assert reader.read() == ANYTHING
    log.append(RESIZE)
    assert reader.read() == RESIZE


def test_a_log_opens_on_a_full_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        log = HintLog(file, SOURCE)

    with closing(log), closing(HintLogReader(file, "reader")) as reader:
        assert reader.read() == Hints()
        log.append(RESIZE)
        assert reader.read() == ANYTHING


def test_hints_of_processes_that_append_at_the_same_time_all_arrive(file: Path, reader: HintLogReader) -> None:
    script = """
import sys
from holdfast.engine.wakeups import Hints
from holdfast.stores.sqlite.wakeups.hint_log import HintLog
name = sys.argv[2]
log = HintLog(sys.argv[1], name)
print("ready", flush=True)
sys.stdin.readline()
for number in range(500):
    log.append(Hints(finished={f"{name}-{number}"}))
"""
    names = ["one", "two", "three"]
    command = [sys.executable, "-c", script, str(file)]
    processes = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in names
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    received = Hints()
    while any(process.poll() is None for process in processes):
        received.add(reader.read())
    received.add(reader.read())
    for process in processes:
        process.communicate()

    assert not received.anything
    assert received.finished == {f"{name}-{number}" for name in names for number in range(500)}


def test_an_append_after_close_does_not_write_into_another_file(file: Path, tmp_path: Path) -> None:
    log = HintLog(file, SOURCE)
    number = log._fd  # pyright: ignore[reportPrivateUsage]
    log.close()
    with (tmp_path / "other").open("wb+", buffering=0) as other, under(number, other.fileno()):
        other.write(b"theirs")
        log.append(RESIZE)
        other.seek(0)

        assert other.read() == b"theirs"


def test_the_wake_file_is_private_and_symbolic_links_are_refused(file: Path, tmp_path: Path) -> None:
    HintLog(file, SOURCE).close()
    assert stat.S_IMODE(wake_file(file).stat().st_mode) == 0o600

    wake_file(file).unlink()
    wake_file(file).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        HintLog(file, SOURCE)
    with pytest.raises(OSError, match="symbolic links"):
        HintLogReader(file, "reader")
