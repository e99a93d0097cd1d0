"""A server for the tests of this folder, and a store in its own namespace."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from holdfast.stores.redis import RedisStore
from tests.servers.redis import PRODUCTS, Product, RedisServer, shared_redis


@pytest.fixture(params=PRODUCTS)
def product(request: pytest.FixtureRequest) -> Product:
    """For tests that run on both products."""
    chosen: Product = request.param
    return chosen


@pytest.fixture
def server(product: Product) -> RedisServer:
    return shared_redis(product)


@pytest.fixture
def store(server: RedisServer) -> Generator[RedisStore]:
    store = RedisStore(server.address())
    store.open_sync()
    yield store
    store.close_sync()
