"""The fork server of a run: imports all modules once, and forks a producer or worker in milliseconds.

A run kills workers all the time; to start a Python interpreter for each would take most of the run.
``python -m torture.fork_server SETTINGS`` reads lines from its standard input, each with the module to run and its
settings, and writes the lines ``started NUMBER PID`` and ``ended PID CODE``.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import select
import signal
import sys
from importlib import import_module
from pathlib import Path

from torture.process_setup import prepare, skew
from torture.settings import Settings, read

_PR_SET_PDEATHSIG = 1


def main(settings: Settings) -> None:
    # Ctrl-C reaches all processes of the terminal. The main process of the run stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare(settings)
    logging.basicConfig(level=logging.CRITICAL)
    modules = [
        "torture.worker",
        "torture.producer",
        "torture.interrupted_producer",
        "torture.operations",
        "torture.watched_store",
        _store(settings.url),
    ]
    for module in [*modules, "torture.supervised", "holdfast.supervisor"] if settings.supervised else modules:
        import_module(module)
    _write_line("ready")
    buffer = b""
    number = 0
    while True:
        readable, _, _ = select.select([0], [], [], 0.02)
        if readable:
            data = os.read(0, 1 << 16)
            if not data:
                return
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                number += 1
                module, _, text = line.decode().partition(" ")
                _write_line(f"started {number} {_fork(module, text)}")
        _report_ended()


def _fork(module: str, text: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        follow_parent()
        settings = read(text)
        log = os.open(Path(settings.folder) / f"{settings.name}.log", os.O_WRONLY | os.O_CREAT, 0o644)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(log, 2)
        if settings.skew:
            skew(settings.skew)
        running = import_module(module).main(settings)
        if asyncio.iscoroutine(running):
            asyncio.run(running)
        code = 0
    except BaseException:
        logging.getLogger("torture").critical("the process failed", exc_info=True)
    finally:
        os._exit(code)


def _report_ended() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _write_line(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _write_line(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _store(url: str) -> str:
    scheme = url.partition(":")[0]
    return "holdfast.stores." + {"postgresql": "postgres"}.get(scheme, scheme)


def follow_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this signal when the parent process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)


def stop_once() -> None:
    """On SIGTERM or SIGINT, exit with all cleanup: servers, disks and processes. Ignore further signals meanwhile."""

    def stop(number: int, frame: object) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)


if __name__ == "__main__":
    main(read(sys.argv[1]))
