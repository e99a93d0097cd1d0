"""Beats: they distinguish a frozen worker from a slow one."""

from __future__ import annotations

from pathlib import Path

from torture.failpoints import Watch
from torture.history import History, read
from torture.sampling import sampling
from torture.settings import Failpoints


async def test_the_first_beat_is_written_before_the_process_can_freeze(tmp_path: Path) -> None:
    history = History(tmp_path, "worker-1")

    async with sampling(history, Watch(history, Failpoints())):
        _, notes = read(tmp_path)

    history.close()
    assert [note.what for note in notes] == ["beat"]
