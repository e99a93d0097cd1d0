"""A server for the tests of this folder, and a store in a namespace of its own."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from holdfast.stores.redis import RedisStore
from tests.servers.redis import PRODUCTS, RedisServer, shared_redis


@pytest.fixture(params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> RedisServer:
    return shared_redis(request.param)


@pytest.fixture
def store(server: RedisServer) -> Generator[RedisStore]:
    store = RedisStore(server.address())
    store.open_sync()
    yield store
    store.close_sync()
