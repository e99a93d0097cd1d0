"""One worker process: its start, the commands to it, its status messages and its end."""

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

from holdfast.engine.attempt_tally import AttemptTally
from holdfast.supervisor.child_protocol import DRAIN, STATUSES, STOP, ChildSettings

ENTRY = "holdfast.supervisor.child"


class WorkerProcess:
    """A worker process. `changed` is called on the event loop after each change of its state.
    The attempts that end in the process are added to `attempts`.

    It is a new interpreter, not a fork: it shares no connection, lock or thread with this process. It ends when this
    process dies, because the pipe to it is then closed. Raises OSError, without leaving a process, if the machine
    cannot start it or the thread that watches it.
    """

    def __init__(
        self, settings: ChildSettings, *, entry: str, changed: Callable[[], None], attempts: AttemptTally | None = None
    ) -> None:
        self.settings = settings
        self.started = time.monotonic()
        self.name: str | None = None
        """The id of the worker, when it is ready."""
        self.greeted = False
        self.busy = 0
        self.draining = False
        self.stopped = False
        self.code: int | None = None
        """The exit code, after its end; negative for a signal."""
        self._changed = changed
        self._attempts = attempts
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
            raise OSError(f"the thread that watches it cannot start: {error}") from error
        os.set_blocking(self._status, False)
        self._loop.add_reader(self._status, self._read)
        self._write(msgspec.json.encode(settings) + b"\n")

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
        """Let it claim no more jobs, finish its running attempts, and exit."""
        if not self.asked_to_end:
            self.draining = True
            self._write(DRAIN)

    def stop(self) -> None:
        """Let it exit within its grace period. A second call ends the grace period: it releases its running jobs."""
        self.stopped = True
        self._write(STOP)

    def kill(self) -> None:
        """Kill it. Its jobs are reaped when their leases have expired."""
        if self.code is None:
            self._process.kill()

    def ended(self) -> None:
        """Record its exit code, once. Called on the event loop after it has exited."""
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
        """Kill it before it received its settings: no thread would watch its end."""
        self._process.kill()
        self._process.wait()
        os.close(self._status)
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has exited: `ended` follows
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read(self) -> None:
        try:
            data = os.read(self._status, 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._status)
            return
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            status = STATUSES.decode(line)
            self.name = status.ready or self.name
            self.busy = self.busy if status.busy is None else status.busy
            self.draining |= status.draining
            if status.attempts is not None and self._attempts is not None:
                self._attempts.add(status.attempts)
        if lines:
            self._changed()

    def _watch(self) -> None:
        """Wait for its end in a thread, which works with every event loop and beside other child processes."""
        try:
            if hasattr(os, "waitid"):
                # WNOWAIT: `ended` reaps it on the event loop, so that `kill` cannot signal a reused process id.
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._process.wait()
        except ChildProcessError:
            pass  # already reaped
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self.ended)
