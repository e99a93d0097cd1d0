"""The file of a SQLite store is replaced while workers and a producer use it.

The fault makes the file unusable. It is therefore injected into a separate store at the end of a run, and one note
summarises what the processes did.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from torture import history as histories
from torture.harnesses.sqlite import SqliteHarness
from torture.history import History, real_now
from torture.processes import Process, Processes
from torture.settings import Failpoints, Settings

KIND = "file replaced"
WORKERS = 2
LOAD = 3.0
"""Seconds of load before the file is replaced, and again after."""
TIMEOUT = 30.0
"""Seconds for the processes to start, and for the workers to stop."""
COMMITTING = 250_000
"""Microseconds for the commit of a transaction that checked the file before it was replaced."""
WITHOUT_STORE = ("refuse", "wait")
"""Calls that end without the store: a value that is refused, a wait that ends by its timeout."""


def replace_file(processes: Processes, settings: Settings, folder: Path, history: History) -> None:
    """Replace a file under load and note what its users did."""
    place = folder / "replaced"
    place.mkdir()
    ground = SqliteHarness(place, None)
    ground.create()
    shared = msgspec.structs.replace(
        settings, folder=str(place), url=ground.url, failpoints=Failpoints(), sweep=False, skew=0.0, drop=0.0,
        rate=20.0, seconds=2 * LOAD, largest=20, widest=5, supervised=False, harsh=False,
    )  # fmt: skip
    names = {f"worker-{number}": "torture.worker" for number in range(WORKERS)} | {"producer-0": "torture.producer"}
    started = {
        name: processes.start(module, msgspec.structs.replace(shared, name=name)) for name, module in names.items()
    }
    _wait(lambda: all(process.ready for process in started.values()))
    time.sleep(LOAD)
    before = place / "before.db"
    replaced = _replace(ground.path, before)
    _wait(lambda: not any(process.alive for process in started.values()))
    _note(history, started, place=place, before=before, replaced=replaced)


def _replace(path: Path, before: Path) -> int:
    """Replace this file by the file of another store. Returns when; `before` is then a name of the old file."""
    other = path.with_name("other.db")
    SqliteHarness.at(other).create()
    for suffix in ("", "-wal", "-shm"):
        os.link(f"{path}{suffix}", f"{before}{suffix}")
    other.rename(path)
    replaced = real_now()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return replaced


def _note(history: History, started: dict[str, Process], *, place: Path, before: Path, replaced: int) -> None:
    calls, _ = histories.read(place)
    after = [call for call in calls if call.begun > replaced and call.op not in WITHOUT_STORE]
    errors = [str(call.facts.get("error")) for call in after]
    changes = SqliteHarness.at(before).audit()
    with closing(sqlite3.connect(place / "jobs.db")) as connection:
        ((found,),) = connection.execute("select count(*) from holdfast_job")
    history.note("fault", kind=KIND, begun=replaced, outage=False)
    history.note(
        "replaced",
        changes=sum(change.at <= replaced for change in changes),
        late=[change.id for change in changes if change.at > replaced + COMMITTING],
        calls=len(after),
        acknowledged=[call.op for call in after if call.outcome == "ok"],
        refused=sum("removed or replaced" in error for error in errors),
        found=found,
        workers={name: _end(place, process) for name, process in started.items() if name.startswith("worker")},
    )


def _end(place: Path, process: Process) -> str:
    """How a worker ended: `detected` if it ended by itself with the reason in its log."""
    log = (place / f"{process.name}.log").read_text()
    if process.alive:
        return "it did not end"
    return "detected" if process.code == 1 and "StoreReplaced" in log else f"code {process.code}: {log[-200:]}"


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
