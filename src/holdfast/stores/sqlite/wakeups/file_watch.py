"""Wake-ups between the processes that share one SQLite file.

Two file events show that a transaction was committed:

- a *notification*: a process of Holdfast appended a line to `<file>-wake` after its commit. `on_notification` is called
  at once;
- a change of the file, its `-wal` or its `-journal`: a commit is in progress, perhaps on a connection of the
  application. `on_change` is called when `PRAGMA data_version` shows that the commit is visible.

Both are hints: a lost one costs time, never a job. `on_replaced` is called when the file was removed, renamed or
replaced. Without inotify of Linux, or when the limit of inotify instances is reached, the watch reads `data_version`
and the inode every 50 ms.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from holdfast.stores.sqlite.connection.file_checks import identity
from holdfast.stores.sqlite.wakeups.hint_log import HintLog, wake_file
from holdfast.stores.sqlite.wakeups.inotify import FileEvents
from holdfast.stores.sqlite.wakeups.recheck_schedule import GAP, RecheckSchedule

POLL = 0.05
"""Seconds between two checks without file events."""

PACE = 0.001
"""Seconds that a call after a notification takes from the budget: at most a thousand calls per second on average."""

SPARE = 0.02
"""Maximum budget after a quiet time, in seconds. The calls within it need no pause between them."""

_LIMITS = (errno.EMFILE, errno.ENOSPC)
"""Errors of inotify when a user has too many instances or watches, for example `fs.inotify.max_user_instances`."""

_log = logging.getLogger("holdfast.sqlite.watch")


def _nothing() -> None:
    return


class FileWatch:
    """Calls functions after commits to the SQLite file at `path`, in a thread of its own.

    Calls never overlap, and there are at most a thousand per second. Commits close together share one call, and a call
    may come without a new commit. An error of a called function is logged, and the watch continues. The thread opens a
    read-only connection. Stop the watch before the last writing connection is closed; otherwise SQLite does not
    checkpoint and remove the write-ahead log. In a forked child the watch receives nothing and `stop` does nothing.

    While this process appends to its `own` log without a pause, calls are at least `GAP` apart, so that the watch takes
    little time from the thread that writes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        on_change: Callable[[], None],
        *,
        on_notification: Callable[[], None] = _nothing,
        on_replaced: Callable[[], None] = _nothing,
        own: HintLog | None = None,
    ) -> None:
        self._path = Path(path).resolve()
        self._on_change = on_change
        self._on_notification = on_notification
        self._on_replaced = on_replaced
        self._own = own
        self._pid = os.getpid()
        self._ready = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-watch", daemon=True)
        self._wakes_thread, self._wakes = -1, -1

    def start(self) -> None:
        """Start the thread. Every commit after the return is detected.

        OSError, RuntimeError: the system has no more file descriptors or threads; there is nothing to stop.
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
        """Whether commits are still detected."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the thread and wait for it; `on_change` is not called after the return.

        Calling again does nothing. Called from within `on_change`, it does not wait.
        """
        if self._stopped.is_set() or self._wakes < 0 or os.getpid() != self._pid:
            return
        self._stopped.set()
        # The byte is never read, so the other end stays readable. To close this end is not enough: a forked child may
        # have a copy of it.
        with contextlib.suppress(BrokenPipeError):  # the thread was awake, saw the flag and has ended
            os.write(self._wakes, b"\0")
        os.close(self._wakes)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        version = _DataVersion(self._path)
        try:
            events = _events(self._path)
            if self._own is not None:
                self._own.notified = False  # no watch has received the earlier ones
            # Read after the events exist: every later commit causes an event or changes the version.
            version.changed()
            file = identity(self._path)
            self._ready.set()
            if events is not None:
                notifications, changes = events
                with contextlib.closing(notifications), contextlib.closing(changes):
                    self._follow(notifications, changes, version)
            self._poll(version, file)
        finally:
            self._ready.set()
            version.close()
            os.close(self._wakes_thread)

    def _follow(self, notifications: FileEvents, changes: FileEvents, version: _DataVersion) -> None:
        """Wait for events, and call `on_change` after commits. Returns after `stop`, or when the events have ended."""
        stop_only = self._wait_set()
        notifications_only = self._wait_set(notifications)
        anything = self._wait_set(notifications, changes)
        schedule, spent = RecheckSchedule(), 0.0
        while True:
            if schedule.due is None:
                anything.poll()
            else:
                # Changes are not read before the check is due: one commit changes the log many times.
                notifications_only.poll(max(0.0, schedule.due - time.monotonic()) * 1000)
            if self._stopped.is_set():
                return
            now = time.monotonic()
            try:
                if notifications.read():
                    spent = max(spent, now - SPARE) + (GAP if self._received_own() else PACE)
                    self._call(self._on_notification)
                changed = changes.read() if schedule.due is None or schedule.due <= now else {}
            except OSError as error:
                _log.warning("file events for %s ended (%s): polling every %s s", self._path, error, POLL)
                return
            replaced = changed.get(self._path.name, False)
            if replaced:
                version.close()
            if changed:
                schedule.changed(now)
            if replaced:
                self._call(self._on_replaced)
            if schedule.due is not None and schedule.due <= now:
                if version.changed():
                    self._call(self._on_change)
                schedule.checked(now)
            # Notifications during this pause are handled as one.
            if spent > now and stop_only.poll((spent - now) * 1000):
                return

    def _received_own(self) -> bool:
        """Whether a notification of this process is among those just received."""
        if self._own is None or not self._own.notified:
            return False
        self._own.notified = False
        return True

    def _wait_set(self, *events: FileEvents) -> select.poll:
        """A poll object for `stop` and these events."""
        poll = select.poll()
        for readable in (self._wakes_thread, *(each.fileno() for each in events)):
            poll.register(readable, select.POLLIN)
        return poll

    def _poll(self, version: _DataVersion, file: tuple[int, int] | None) -> None:
        while not self._stopped.wait(POLL):
            before, file = file, identity(self._path)
            if file != before:
                version.close()
                self._call(self._on_replaced)
            self._call(self._on_notification)
            if version.changed():
                self._call(self._on_change)

    def _call(self, listener: Callable[[], None]) -> None:
        try:
            listener()
        except Exception:
            _log.exception("a listener of the watch on %s failed", self._path)


class _DataVersion:
    """Reads `PRAGMA data_version` on a read-only connection. For one thread."""

    def __init__(self, path: Path) -> None:
        self._address = f"file:{quote(str(path))}?mode=ro"
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None

    def changed(self) -> bool:
        """Whether a commit became visible since the last call. False while the file is locked or does not exist."""
        try:
            if self._connection is None:
                # Do not wait for a lock: the next check of the schedule is soon enough.
                self._connection = sqlite3.connect(self._address, uri=True, timeout=0, isolation_level=None)
            # Fetch all rows: an open statement would keep its snapshot and stop checkpoints.
            [(version,)] = self._connection.execute("pragma data_version").fetchall()
        except sqlite3.Error:
            return False
        before, self._version = self._version, version
        return bool(before != version)

    def close(self) -> None:
        """Close the file. The next check opens it again and counts as a change."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._version = None


def _events(path: Path) -> tuple[FileEvents, FileEvents] | None:
    """Notifications, and changes of the file. Separate, because notifications are urgent and changes are many."""
    name = path.name
    try:
        notifications = FileEvents(path.parent, [wake_file(path).name])
        try:
            return notifications, FileEvents(path.parent, [name, f"{name}-wal", f"{name}-journal"])
        except OSError:
            notifications.close()
            raise
    except OSError as error:
        level = logging.WARNING if error.errno in _LIMITS else logging.INFO
        _log.log(level, "no file events for %s (%s): polling every %s s", path, error, POLL)
        return None
