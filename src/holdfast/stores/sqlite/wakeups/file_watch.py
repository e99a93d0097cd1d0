"""Wake-ups between the processes that share one SQLite file.

Two signs tell that something was committed:

- a *poke*: a process of ours wrote to `<file>-wake` after its commit. Listeners are called at once;
- a change of the file, its `-wal` or its `-journal`: somebody commits, perhaps the application on a
  connection of its own. Listeners are called once `PRAGMA data_version` shows that the commit can be seen.

Both are hints: losing one costs time, never a job. Where Linux's inotify is missing, or a user's instances of it are
used up, `data_version` is asked every 50 ms.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from holdfast.stores.sqlite.wakeups.inotify import FileEvents
from holdfast.stores.sqlite.wakeups.recheck_schedule import GAP, Burst

POLL = 0.05
"""Seconds between two looks where there are no file events."""

PACE = 0.001
"""Seconds that the call after a poke takes from the budget: a thousand a second in the long run."""

SPARE = 0.02
"""The budget a quiet time leaves, in seconds: what it pays for may follow each other without a pause."""

_LIMITS = (errno.EMFILE, errno.ENOSPC)
"""What inotify answers when a user has too many instances or watches: `fs.inotify.max_user_instances` and the like."""

_log = logging.getLogger("holdfast.sqlite.watch")


class Poker:
    """Tells the watches of other processes, and of this one, that something was committed.

    Any number of threads and processes may poke at once; pokes that arrive together are heard as one. The
    wake file is made private to its owner, and a symbolic link in its place is refused with `OSError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._fd = os.open(wake_file(path), flags, 0o600)
        self._lock = threading.Lock()
        """Held while the file is used: under the number of a closed one there may be another file, and not ours."""
        self.poked = False
        """Set before each poke; cleared by the watch that hears it."""

    def poke(self) -> None:
        """Call after the commit, never before.

        Never raises: the commit stands, whether or not it was told. After closing it tells nobody.
        """
        # Windows has no file events, so nobody would hear it.
        if sys.platform != "win32":
            with self._lock:
                if self._fd >= 0:
                    self.poked = True
                    with contextlib.suppress(OSError):
                        os.pwrite(self._fd, b"\0", 0)

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, -1
        os.close(fd)


class Watch:
    """Calls `on_change` after commits to the SQLite file at `path`, in a thread of its own.

    Calls never overlap and come at most a thousand times a second; commits close together share a call, and a
    call may come with nothing new to see. An error raised by `on_change` is logged and ends nothing. The
    thread opens a read-only connection: stop the watch before closing the last writing connection, or SQLite
    leaves the write-ahead log behind instead of folding it into the file. In a forked child the watch is deaf
    and `stop` does nothing.

    A poke of `own` is left to the looks that its commit asks for anyway, milliseconds later: this process knows what
    it committed. So is another's that is heard together with it; while our own follow each other without a pause,
    nothing is heard more often than every `GAP`.
    """

    def __init__(
        self, path: str | os.PathLike[str], on_change: Callable[[], None], *, own: Poker | None = None
    ) -> None:
        self._path = Path(path).resolve()
        self._on_change = on_change
        self._own = own
        self._pid = os.getpid()
        self._ready = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-watch", daemon=True)
        self._wakes_thread, self._wakes = -1, -1

    def start(self) -> None:
        """Begin. Every commit made after the return is noticed.

        OSError, RuntimeError: the system has no more files, or threads; there is nothing to stop.
        """
        self._wakes_thread, self._wakes = os.pipe()
        try:
            self._thread.start()
        except BaseException:
            os.close(self._wakes_thread)
            os.close(self._wakes)
            self._wakes = -1
            raise
        self._ready.wait()

    @property
    def alive(self) -> bool:
        """Whether commits are still noticed."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the thread and wait for it; `on_change` is not called after the return.

        Calling again does nothing. Called from within `on_change`, it does not wait.
        """
        if self._stopped.is_set() or self._wakes < 0 or os.getpid() != self._pid:
            return
        self._stopped.set()
        # Written and never read, so the other end stays ready. Closing alone would not do: a forked child may
        # hold a copy of this end.
        with contextlib.suppress(BrokenPipeError):  # the thread, awake for another reason, saw the flag first and left
            os.write(self._wakes, b"\0")
        os.close(self._wakes)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        view = _View(self._path)
        try:
            events = _events(self._path)
            if self._own is not None:
                self._own.poked = False  # nobody heard what it told before
            # Looked at only now: what is committed from here on shows in the events or in the next look.
            view.moved()
            self._ready.set()
            if events is not None:
                pokes, changes = events
                with contextlib.closing(pokes), contextlib.closing(changes):
                    self._follow(pokes, changes, view)
            self._poll(view)
        finally:
            self._ready.set()
            view.close()
            os.close(self._wakes_thread)

    def _follow(self, pokes: FileEvents, changes: FileEvents, view: _View) -> None:
        """Block until something is heard, and call when it means a commit.

        Returns when stopped, or gone deaf.
        """
        anything, pokes_only, stop_only = select.poll(), select.poll(), select.poll()
        for poll in (anything, pokes_only, stop_only):
            poll.register(self._wakes_thread, select.POLLIN)
        for poll in (anything, pokes_only):
            poll.register(pokes.fileno(), select.POLLIN)
        anything.register(changes.fileno(), select.POLLIN)
        burst, spent = Burst(), 0.0
        while True:
            if burst.due is None:
                anything.poll()
            else:
                # A change asks for looks that are due already. One commit changes the log many times.
                pokes_only.poll(max(0.0, burst.due - time.monotonic()) * 1000)
            if self._stopped.is_set():
                return
            now = time.monotonic()
            try:
                call = bool(pokes.read())
                changed = changes.read() if burst.due is None or burst.due <= now else {}
            except OSError as error:
                _log.warning("file events for %s ended (%s): looking every %s s", self._path, error, POLL)
                return
            if changed.get(self._path.name, False):
                view.close()
            if changed:
                burst.changed(now)
            if call and self._own is not None and self._own.poked:
                self._own.poked = call = False
                spent = max(spent, now - SPARE) + GAP
            elif call:
                spent = max(spent, now - SPARE) + PACE
            if burst.due is not None and burst.due <= now:
                call = view.moved() or call
                burst.looked(now)
            if call:
                self._call()
            # Pokes pile up meanwhile, and are heard as one.
            if spent > now and stop_only.poll((spent - now) * 1000):
                return

    def _poll(self, view: _View) -> None:
        while not self._stopped.wait(POLL):
            if view.moved():
                self._call()

    def _call(self) -> None:
        try:
            self._on_change()
        except Exception:
            _log.exception("a listener of the watch on %s failed", self._path)


class _View:
    """What one read-only connection can see. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        self._address = f"file:{quote(str(path))}?mode=ro"
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None

    def moved(self) -> bool:
        """Whether a commit became visible since the last call.

        False while the file is locked, or not there yet.
        """
        try:
            if self._connection is None:
                # No waiting for a lock: the next look of the burst is soon enough.
                self._connection = sqlite3.connect(self._address, uri=True, timeout=0, isolation_level=None)
            # All rows are fetched, since a statement left open would hold its snapshot and stop checkpoints.
            [(version,)] = self._connection.execute("pragma data_version").fetchall()
        except sqlite3.Error:
            return False
        before, self._version = self._version, version
        return bool(before != version)

    def close(self) -> None:
        """Let go of the file; the next look opens it anew and counts as moved."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._version = None


def wake_file(path: str | os.PathLike[str]) -> Path:
    """Where pokes for the SQLite file at `path` go: beside the file itself, whatever links lead to it."""
    file = Path(path).resolve()
    return file.with_name(f"{file.name}-wake")


def _events(path: Path) -> tuple[FileEvents, FileEvents] | None:
    """Pokes, and changes of the file: apart, since the ones are to be heard at once and the others are many."""
    name = path.name
    try:
        pokes = FileEvents(path.parent, [wake_file(path).name])
        try:
            return pokes, FileEvents(path.parent, [name, f"{name}-wal", f"{name}-journal"])
        except OSError:
            pokes.close()
            raise
    except OSError as error:
        level = logging.WARNING if error.errno in _LIMITS else logging.INFO
        _log.log(level, "no file events for %s (%s): looking every %s s", path, error, POLL)
        return None
