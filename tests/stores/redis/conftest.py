"""A server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.redis import RedisServer, run_redis


@pytest.fixture(scope="session")
def server() -> Iterator[RedisServer]:
    with run_redis() as server:
        yield server
