"""Full disks and power failures without effect on other processes."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from torture.harnesses.disk import limited, own_disk
from torture.harnesses.power_loss import lose_unflushed

WRITER = """
import sys
for line in sys.stdin:
    try:
        with open(sys.argv[1], "ab", buffering=0) as file:
            file.write(b"x" * 4096)
        print("written", flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


def test_a_limited_process_cannot_write_beyond_its_limit_and_can_again_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None

        def write() -> str:
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdin.write("\n")
            return writer.stdout.readline().strip()

        before = write()
        with limited(writer.pid, 4096):
            meanwhile = write()
        after = write()
        writer.stdin.close()

    assert (before, meanwhile, after) == ("written", "27", "written")  # EFBIG


def test_a_full_disk_has_no_free_byte_and_has_space_again_afterwards() -> None:
    with own_disk() as disk:
        if disk is None:  # this user may not mount a disk
            return
        file = disk.path / "file"

        def refused() -> bool:
            try:
                file.write_bytes(b"x")
            except OSError as error:
                return error.errno == errno.ENOSPC
            return False

        assert disk.be_full(0.0, refused)
        assert not refused()


def test_a_full_disk_without_a_refused_write_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torture.harnesses.disk.EXTRA_SECONDS", 0.1)
    with own_disk() as disk:
        if disk is None:
            return

        assert not disk.be_full(0.0, lambda: False)


def test_unflushed_data_is_lost(tmp_path: Path) -> None:
    flushed, unflushed = tmp_path / "a.aof", tmp_path / "b.aof"
    flushed.write_bytes(b"x" * 100)
    unflushed.write_bytes(b"y" * 50)
    log = tmp_path / "log"
    log.write_text(f"40 {flushed}\n70 {flushed}\n")

    assert lose_unflushed(log, [flushed, unflushed]) == 80

    assert flushed.stat().st_size == 70
    assert unflushed.stat().st_size == 0
