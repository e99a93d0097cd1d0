"""Markers for the servers that a test needs, a usable SIGINT, and a garbage collector that skips what stays.

`-m postgres` selects the tests that need PostgreSQL, `-m "not (postgres or redis or valkey or nats)"` those that
need no server. A test has the marker of a server if a parameter of it names the server, if it is in that store's
folder, or if its module starts the server and the test has no parameter that names another store.
"""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Generator
from types import ModuleType

import pytest

from tests.browser.installed import BROWSER

SERVERS = ("postgres", "redis", "valkey", "nats")
STORES = ("memory", "sqlite", *SERVERS)

# A shell starts background commands with SIGINT ignored, and child processes inherit that. Tests interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    for server in SERVERS:
        config.addinivalue_line("markers", f"{server}: needs a {server} server")


def pytest_report_header() -> str:
    return f"browser: {BROWSER or 'none, so its tests are left out; make browser installs one'}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without the garbage collector, and exempt them from it: they stay until the end.

    Each full collection would traverse the modules and the twenty thousand tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The longest test waits for minutes. It begins first, so that the others run meanwhile.
    items.sort(key=lambda item: item.path.name != "test_smoke.py")
    for item in items:
        for server in _servers_of(item):
            item.add_marker(server)


def _servers_of(item: pytest.Item) -> set[str]:
    names = set(re.split(r"[^a-z]+", item.name.partition("[")[2]))
    names.update(item.path.parts)
    named = names.intersection(STORES)
    if not named and isinstance(module := getattr(item, "module", None), ModuleType):
        named = _started_by(module)
    return named.intersection(SERVERS)


def _started_by(module: ModuleType) -> set[str]:
    """The servers whose starting functions a test module has imported."""
    origins = {getattr(value, "__module__", "") for value in vars(module).values() if callable(value)}
    return {server for server in SERVERS if f"tests.servers.{server}" in origins}
