"""Signs of life: what tells a worker that stood still from one that was slow to hear."""

from __future__ import annotations

from pathlib import Path

from torture.failpoints import Watch
from torture.history import History, read
from torture.sampling import sampling
from torture.settings import Failpoints


async def test_a_process_is_known_to_live_before_anything_can_freeze_it(tmp_path: Path) -> None:
    history = History(tmp_path, "worker-1")

    async with sampling(history, Watch(history, Failpoints())):
        _, notes = read(tmp_path)

    history.close()
    assert [note.what for note in notes] == ["beat"]
