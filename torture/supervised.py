"""The supervisor of a run, its worker processes, and probes of its health endpoint.

The number of processes is recorded when it changes, and several times per second while the backlog is unknown. The pids
are written to a file for the nemesis.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from torture.history import History
from torture.settings import Settings

LEAST, MOST, SLOTS = 1, 3, 4
LOOK_EVERY = 0.1
PROBE_EVERY = 1.5
SEES, BLIND = (5.0, 10.0), (1.0, 2.0)
"""Seconds in which the backlog is readable and unreadable, in turn. Without these periods it would rarely be unknown,
because the store retries during most outages."""
ENTRY = "torture.supervised"
ENVIRONMENT = "TORTURE_SETTINGS"


async def main(settings: Settings) -> None:
    from holdfast import Event
    from holdfast.supervisor import Group, Supervisor
    from torture.elastic import elastic

    folder = Path(settings.folder)
    history = History(folder, settings.name)

    def show(event: Event) -> None:
        history.note("supervisor", kind=event.kind, worker=event.worker, detail=event.detail)

    import msgspec

    os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
    group = Group(
        name="elastic", types=(elastic.name,), default_count=LEAST, max_count=MOST, concurrency=SLOTS,
        scale_interval=0.3, scale_down_after=2.0, lease=settings.lease, grace=5,
    )  # fmt: skip
    supervisor = Supervisor(
        settings.url, "torture.elastic:jobs", groups=[group], listen=("127.0.0.1", 0), observers=[show], entry=ENTRY
    )
    tasks = [
        asyncio.create_task(_look(supervisor, history, folder)),
        asyncio.create_task(_probe(supervisor, history)),
        asyncio.create_task(_hide_backlog(supervisor, history, settings)),
    ]
    (folder / f"{settings.name}.ready").touch()
    try:
        await supervisor.run()
    finally:
        for task in tasks:
            task.cancel()


async def _look(supervisor: object, history: History, folder: Path) -> None:
    """Record the number of processes, the target, and whether the backlog is known."""
    from holdfast.supervisor import Supervisor

    assert isinstance(supervisor, Supervisor)
    before: dict[str, object] = {}
    while True:
        for fleet in supervisor.fleets:
            living = [process for process in fleet.processes if process.code is None]
            now: dict[str, object] = {
                "living": len(living),
                "active": len(fleet.active),
                "target": fleet.scaler.target,
                "known": supervisor.backlog.last is not None,
            }
            if now != before or not now["known"]:
                history.note("processes", least=LEAST, most=MOST, **now)
                before = now
            pids = folder / "supervised.pids"
            pids.with_suffix(".new").write_text(json.dumps([process.pid for process in living if process.ready]))
            pids.with_suffix(".new").rename(pids)
        await asyncio.sleep(LOOK_EVERY)


async def _hide_backlog(supervisor: object, history: History, settings: Settings) -> None:
    """Make the backlog unreadable from time to time, while new jobs arrive, long enough for a scaling decision."""
    from holdfast import Client, HoldfastError
    from holdfast.errors import StoreUnavailable
    from holdfast.supervisor import Supervisor
    from torture.actor import Actor
    from torture.elastic import jobs
    from torture.operations import start_elastic

    assert isinstance(supervisor, Supervisor)
    rng = random.Random(settings.seed)
    backlog: Any = supervisor.backlog
    read = backlog._read

    async def refuse() -> None:
        raise StoreUnavailable("torture", "a failpoint before get_stats")

    until = time.monotonic() + settings.seconds  # only during the load
    while time.monotonic() < until:
        await asyncio.sleep(rng.uniform(*SEES))
        backlog._read, backlog._changed = refuse, True  # as after a wake-up: the backlog is read again
        history.note("blind")
        await asyncio.sleep(rng.uniform(*BLIND))
        with suppress(HoldfastError):
            async with Client(settings.url, jobs) as client:
                await start_elastic(Actor(client, history, rng, settings))
        await asyncio.sleep(rng.uniform(*BLIND))
        backlog._read = read


async def _probe(supervisor: object, history: History) -> None:
    """Send allowed and forbidden requests to the endpoint."""
    from holdfast.supervisor import Supervisor

    assert isinstance(supervisor, Supervisor)
    number = 0
    while True:
        await asyncio.sleep(PROBE_EVERY)
        if supervisor.endpoint is None:
            return
        for method, target, allowed in PROBES[number % len(PROBES)]:
            with suppress(OSError, AssertionError):
                status, body = await _request(supervisor.endpoint.address, method, target)
                history.note(
                    "probe", method=method, target=target, status=status, allowed=status in allowed,
                    clean="<script>" not in body and "\x1b" not in body,
                )  # fmt: skip
        number += 1


_READ = (200, 503)
PROBES: list[list[tuple[str, str, tuple[int, ...]]]] = [
    [("GET", "/healthz", _READ), ("POST", "/healthz", (405,)), ("DELETE", "/backlog", (405,))],
    [("GET", "/backlog", _READ), ("PUT", "/metrics", (405,)), ("POST", "/?_method=DELETE", (405,))],
    [("GET", "/metrics", _READ), ("GET", "/../../etc/passwd", (404,)), ("PATCH", "/readyz", (405,))],
    [("GET", "/<script>alert(1)</script>", (404,)), ("OPTIONS", "/backlog", (405,)), ("GET", "/%1b[2J", (404,))],
]


async def _request(address: tuple[str, int], method: str, target: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n".encode()
        )
        await writer.drain()
        answer = (await asyncio.wait_for(reader.read(), 5)).decode("latin-1")
        return int(answer.split(" ", 2)[1]), answer.partition("\r\n\r\n")[2]
    finally:
        writer.close()


def child() -> None:
    """A supervised process, set up like the others of the run, so that its scripts are audited too."""
    from torture.process_setup import prepare
    from torture.settings import read

    prepare(read(os.environ[ENVIRONMENT]))
    from holdfast.supervisor.child import main as work

    work()


if __name__ == "__main__":
    child()
