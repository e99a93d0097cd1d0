"""One worker process on a machine without free threads or processes."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest

from holdfast.supervisor import Group, Logging
from holdfast.supervisor.child_protocol import ChildSettings
from holdfast.supervisor.worker_process import ENTRY, WorkerProcess

SETTINGS = ChildSettings(
    store="sqlite:///x", app=None, kinds=(), group=Group(), types=("a",), logging=Logging(), path=(), supervisor=1
)


async def test_a_process_that_no_thread_can_watch_is_reaped_and_counts_as_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    def no_more(_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    monkeypatch.setattr(threading.Thread, "start", no_more)
    descriptors = open_descriptors()

    with pytest.raises(OSError, match="can't start new thread"):
        WorkerProcess(SETTINGS, entry=ENTRY, changed=lambda: None)

    assert [each.returncode for each in started] == [-9]
    assert open_descriptors() == descriptors


def open_descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}
