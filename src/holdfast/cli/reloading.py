"""`worker --reload`: restart the process when a module of the application changes."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
import time
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from holdfast.cli.exit_codes import Mistake
from holdfast.engine.observers import log
from holdfast.worker import Worker
from holdfast.worker.os_signals import on_signals

POLL = 0.5
"""Seconds between two looks at the files."""

Stamp = tuple[int, int] | None


class SourceWatch:
    """Compares the files of the application's modules with their state when they were first seen.

    The application's modules are all that are imported, except those of the standard library, of installed packages,
    and of Holdfast.
    """

    def __init__(self) -> None:
        self.changed = False
        """Whether a change of a file stopped the worker, and not a signal."""
        self._signalled = False
        self._stamps: dict[str, Stamp] = {}
        self.find_changes()

    def find_changes(self) -> list[str]:
        """The files that changed. Modules that were imported meanwhile are added."""
        changes = [file for file, stamp in self._stamps.items() if _stamp(file) != stamp]
        for file in source_files():
            self._stamps.setdefault(file, _stamp(file))
        return changes

    @contextmanager
    def watching(self, worker: Worker) -> Generator[None]:
        """Stop the worker at a change, as after SIGTERM. If a signal arrives meanwhile, it ends without a restart."""
        task = asyncio.create_task(self._watch(worker), name="holdfast-reload")
        try:
            with on_signals(self._receive_signal):
                yield
        finally:
            task.cancel()

    async def _watch(self, worker: Worker) -> None:
        changes: list[str] = []
        while not changes:
            await asyncio.sleep(POLL)
            changes = self.find_changes()
        if not self._signalled:
            log.info("%s changed: the worker restarts after its running jobs", ", ".join(map(_shown, changes)))
            self.changed = True
            worker.stop()

    def _receive_signal(self) -> None:
        self._signalled, self.changed = True, False


def source_files() -> set[str]:
    """The files of the application's modules."""
    installed = {str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    left_out = tuple(f"{folder}{os.sep}" for folder in (*installed, str(Path(__file__).parent.parent)))
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in found if isinstance(file, str) and file.endswith(".py") and not file.startswith(left_out)}


@contextmanager
def restarted_after_repair() -> Generator[None]:
    """Import the application in this block: if that fails, log why, wait for a change, and restart."""
    began = time.time_ns()
    try:
        yield
    except Mistake as mistake:
        stamps = {file: _stamp(file) for file in {*source_files(), *_files_of(mistake.__cause__)}}
        if not stamps:
            raise
        log.error("%s; waiting for a change", mistake)
        if not any(_saved_since(began, stamp) for stamp in stamps.values()):
            _wait_for_change(stamps)
        restart()


def restart() -> NoReturn:
    """Replace this process by a new one with the same command line and the same process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command line


def _saved_since(began: int, stamp: Stamp) -> bool:
    """Whether a file was saved after the import began, perhaps after Python read it. Future times do not count."""
    return stamp is not None and began <= stamp[0] <= time.time_ns()


def _wait_for_change(stamps: Mapping[str, Stamp]) -> None:
    while all(_stamp(file) == stamp for file, stamp in stamps.items()):
        time.sleep(POLL)


def _files_of(error: BaseException | None) -> list[str]:
    """The files of the traceback of an import that failed."""
    if error is None:
        return []
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename is not None:
        files.append(error.filename)
    return [file for file in files if Path(file).is_file() and not file.startswith(str(Path(__file__).parent.parent))]


def _stamp(file: str) -> Stamp:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
