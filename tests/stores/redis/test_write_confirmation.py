"""`wait=` and `waitaof=`: a call returns when replicas, or append-only files, have its write."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from holdfast.engine.operations import ClaimJobs, Settle, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.conversation import ErrorReply, ScriptConversation, ScriptSettings, ServerFeatures
from holdfast.stores.redis.keys import Keys
from holdfast.stores.redis.server_checks import WAITAOF_SINCE
from holdfast.stores.redis.verbs.script_call import ScriptCall
from holdfast.testing.builders import completed, new_job
from tests.servers.ports import free_port
from tests.servers.redis import Product, RedisServer, run_redis, until
from tests.stores.redis.every_verb import TERMS
from tests.stores.redis.proxy import proxy_to


@pytest.fixture
def pair(product: Product) -> Generator[tuple[RedisServer, RedisServer]]:
    """A primary and its synchronised replica."""
    port = free_port()
    with (
        run_redis(product=product, port=port, repl_diskless_sync_delay="0") as primary,
        run_redis(product=product, replicaof=f"127.0.0.1 {port}") as replica,
    ):
        with replica.connect() as client:
            until(lambda: client.info("replication")["master_link_status"] == "up")
        yield primary, replica


def is_stored(replica: Any, namespace: str, job_id: str) -> bool:
    return bool(replica.exists(f"{{{namespace}}}:j:{job_id}"))


def test_a_confirmed_start_is_on_the_replica_when_it_returns(pair: tuple[RedisServer, RedisServer]) -> None:
    primary, replica = pair
    store = RedisStore(primary.address("shop", wait="1", timeout="60"))
    store.open_sync()

    with replica.connect() as client:
        for number in range(50):
            store.perform_sync(Start((new_job(id=f"{number}"),)))
            assert is_stored(client, "shop", f"{number}")
        store.perform_sync(Start(tuple(new_job(id=f"many-{number}") for number in range(250))))
        assert all(is_stored(client, "shop", f"many-{number}") for number in range(250))
    store.close_sync()


async def test_a_confirmed_start_is_on_the_replica_when_it_returns_in_async_code(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    primary, replica = pair
    store = RedisStore(primary.address("shop", wait="1", timeout="60"))
    await store.open()

    with replica.connect() as client:
        for number in range(50):
            await store.perform(Start((new_job(id=f"{number}"),)))
            assert is_stored(client, "shop", f"{number}")
    await store.close()


def test_a_write_whose_reply_was_lost_is_confirmed_too(pair: tuple[RedisServer, RedisServer]) -> None:
    primary, replica = pair
    with proxy_to(primary.socket) as proxy, replica.connect() as client:
        store = RedisStore(primary.tcp_address("shop", port=proxy.port, wait="1", timeout="60"))
        store.open_sync()
        store.perform_sync(Start((new_job(),)))
        proxy.cut_at("EVALSHA")

        store.perform_sync(Start((new_job(id="cut off"),)))

        assert len(proxy.swallowed) == 1
        assert is_stored(client, "shop", "cut off")
        # From 7.2 on, WAIT covers only writes of its own connection, so the second connection made a write.
        with primary.connect() as asking:
            assert asking.info("commandstats")["cmdstat_set"]["calls"] == 1
        store.close_sync()


def test_a_full_server_confirms_a_write_whose_reply_was_lost(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    primary, _ = pair
    with proxy_to(primary.socket) as proxy, primary.connect() as client:
        store = RedisStore(primary.tcp_address(port=proxy.port, wait="1", timeout="60"))
        store.open_sync()
        store.perform_sync(Start((new_job(),)))
        (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
        client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)
        proxy.cut_at("EVALSHA")

        (settled,) = store.perform_sync(Settle((completed(job),)))

        assert len(proxy.swallowed) == 1
        assert settled.written
        store.close_sync()


def test_a_new_primary_does_not_confirm_a_write_of_the_old_one() -> None:
    settings = ScriptSettings(read_address("redis://?wait=1"), Keys("shop"), ServerFeatures())
    scripts = ScriptConversation([ScriptCall("start"), ScriptCall("start")], settings, None, writes=True)
    assert [command[0] for command in scripts.commands()] == ["EVALSHA", "EVALSHA", "WAIT"]

    refusals = (
        ErrorReply("READONLY it is a replica now"),
        ErrorReply("ERR WAIT cannot be used with replica instances"),
    )
    with pytest.raises(StoreUnavailable, match="written, but not confirmed"):
        scripts.accept([[b"ok"], *refusals])


def test_a_write_that_asks_for_more_replicas_than_exist_raises(pair: tuple[RedisServer, RedisServer]) -> None:
    primary, _ = pair
    store = RedisStore(primary.address(wait="2", timeout="1.5"))
    store.open_sync()

    with pytest.raises(StoreUnavailable, match=r"written, but confirmed by \[1\] where \[2\] were asked for"):
        store.perform_sync(Start((new_job(),)))

    store.close_sync()


def test_waitaof_needs_a_server_that_supports_it_and_an_append_only_file(product: Product) -> None:
    with run_redis(product=product, appendonly="yes") as server, run_redis(product=product) as fileless:
        with server.connect() as client:
            able = tuple(map(int, client.info("server")["redis_version"].split("."))) >= WAITAOF_SINCE
        store, without_file = (RedisStore(each.address(waitaof="0")) for each in (server, fileless))
        if able:
            store.open_sync()
            assert len(store.perform_sync(Start((new_job(),)))) == 1
            with pytest.raises(StoreUnavailable, match="it keeps no append-only file"):
                without_file.open_sync()
        else:
            with pytest.raises(StoreUnavailable, match=r"has no WAITAOF; it came with 7\.2"):
                store.open_sync()
        store.close_sync()
        without_file.close_sync()
