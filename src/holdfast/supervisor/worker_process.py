"""One worker process, as its supervisor sees it: started, told things, heard, and seen to its end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from holdfast.supervisor.child_protocol import DRAIN, STOP, WORDS, Order

ENTRY = "holdfast.supervisor.child"


class WorkerProcess:
    """A worker process. `changed` is called on the loop whenever something about it is news.

    Started afresh, not forked: it shares no connection, lock or thread with this process. It ends by itself when this
    process is gone, since the pipe to it closes then. Raises OSError, and leaves nothing behind, where the machine
    has no room for it, or for the thread that watches it.
    """

    def __init__(self, order: Order, *, entry: str, changed: Callable[[], None]) -> None:
        self.order = order
        self.started = time.monotonic()
        self.name: str | None = None
        """The worker's id, once it is ready."""
        self.greeted = False
        self.busy = 0
        self.draining = False
        self.stopped = False
        self.code: int | None = None
        """Its exit code, once it has ended; negative for a signal."""
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._status, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", entry, str(theirs)], stdin=subprocess.PIPE, pass_fds=(theirs,)
            )
        except BaseException:
            os.close(self._status)
            raise
        finally:
            os.close(theirs)
        try:
            threading.Thread(target=self._watch, name=f"holdfast-watch-{self.pid}", daemon=True).start()
        except RuntimeError as error:
            self._abandon()
            raise OSError(f"no thread can watch it: {error}") from error
        os.set_blocking(self._status, False)
        self._loop.add_reader(self._status, self._read)
        self._emit(msgspec.json.encode(order) + b"\n")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ready(self) -> bool:
        return self.name is not None

    @property
    def asked_to_end(self) -> bool:
        return self.draining or self.stopped

    def drain(self) -> None:
        """Have it take no more jobs, finish those it has, and end: no attempt of it is cut short."""
        if not self.asked_to_end:
            self.draining = True
            self._emit(DRAIN)

    def stop(self) -> None:
        """Have it end within its grace period; called again, at once, giving back what it runs."""
        self.stopped = True
        self._emit(STOP)

    def kill(self) -> None:
        """End it as it stands. Its jobs are taken back when their leases run out."""
        if self.code is None:
            self._process.kill()

    def ended(self) -> None:
        """Take note of its end, once: called on the loop when it has exited."""
        if self.code is not None:
            return
        self._read()
        self.code = self._process.wait()
        self.busy = 0
        self._loop.remove_reader(self._status)
        os.close(self._status)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._changed()

    def _abandon(self) -> None:
        """End it before it was told anything: nobody would see its end."""
        self._process.kill()
        self._process.wait()
        os.close(self._status)
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _emit(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended: its end is on its way to us
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read(self) -> None:
        try:
            said = os.read(self._status, 65536)
        except BlockingIOError:
            return
        if not said:
            self._loop.remove_reader(self._status)
            return
        *lines, self._received = (self._received + said).split(b"\n")
        for line in lines:
            word = WORDS.decode(line)
            self.name = word.ready or self.name
            self.busy = self.busy if word.busy is None else word.busy
        if lines:
            self._changed()

    def _watch(self) -> None:
        """Wait for its end, in a thread: that works on every loop and beside any other children of this process."""
        try:
            if hasattr(os, "waitid"):
                # Only look: it is reaped on the loop, so that nobody signals a process id that is somebody else's.
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._process.wait()
        except ChildProcessError:
            pass  # already reaped
        with suppress(RuntimeError):  # the loop is closed: nobody is interested any more
            self._loop.call_soon_threadsafe(self.ended)
