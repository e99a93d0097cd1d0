"""The scripts use only keys of their namespace, which are all in one slot."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress

from holdfast.errors import HoldfastError
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.verbs.plans import VERBS
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, new_namespace
from tests.stores.redis.every_verb import READING, WRITING, prepared

ALL_ARE_KEYS = {"DEL", "EXISTS"}
END = "end of the watch"


def test_every_verb_has_a_case_here() -> None:
    tried = {each.verb for each in READING} | {script for script, _ in WRITING.values()}

    assert tried >= {*VERBS}


def test_no_script_uses_a_key_outside_its_namespace(server: RedisServer) -> None:
    with watched(server) as seen:
        for _, making in WRITING.values():
            clock = ManualClock()
            store = RedisStore(server.address(new_namespace()), clock=clock)
            store.open_sync()
            store.perform_sync(making(*prepared(store, clock)))
            for operation in READING:
                with suppress(HoldfastError):  # its job may have been deleted
                    store.perform_sync(operation)
            store.close_sync()

    root, touched, outside = "", 0, set[str]()
    for line in seen:
        who, _, command = line.partition("] ")
        name, *given = command.strip().strip('"').split('" "')
        if name == "EVALSHA":
            root = given[2]
        elif who.endswith(" lua") and name != "TIME":
            keys = given if name in ALL_ARE_KEYS else given[:1]
            touched += len(keys)
            outside |= {f"{name} {key}" for key in keys if key != root and not key.startswith(f"{root}:")}
    assert touched > 10_000
    assert outside == set()


@contextmanager
def watched(server: RedisServer) -> Generator[list[str]]:
    """The commands that the server runs in the block, one line each; complete after the block."""
    seen: list[str] = []
    with socket.socket(socket.AF_UNIX) as watching:
        watching.connect(str(server.socket))
        watching.sendall(b"MONITOR\r\n")
        with watching.makefile("r", encoding="utf-8") as lines:
            assert lines.readline() == "+OK\n"
            yield seen
            with server.connect() as client:
                client.echo(END)
            for line in lines:
                if END in line:
                    return
                seen.append(line)
