"""A master with a replica and sentinels: finding the master, and following a failover."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import redis

from holdfast.core.ids import new_token
from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, Examine, GetChains, GetStats, Settle, Start, TypeTerms
from holdfast.engine.wake_flag import WakeFlag
from holdfast.errors import StoreUnavailable
from holdfast.stores.address import open_store
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups
from holdfast.testing.builders import completed, new_job
from tests.servers.redis import PRODUCTS, Product, RedisServer, until
from tests.servers.redis_sentinel import RedisService, run_service
from tests.stores.redis.retrying_worker import RetryingWorker, without_wait

TERMS = (TypeTerms("resize", 30_000_000, 25),)


@pytest.fixture(scope="module", params=PRODUCTS)
def service(request: pytest.FixtureRequest) -> Generator[RedisService]:
    with run_service(product=request.param) as service:
        yield service


def test_a_store_finds_the_master_through_the_sentinels(service: RedisService) -> None:
    store = open_store(service.address())
    store.open_sync()

    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))
    (settled,) = store.perform_sync(Settle((completed(job),)))

    assert settled.written
    assert {finding.subject: finding.detail for finding in store.perform_sync(Examine())}["replication"]
    store.close_sync()


async def test_an_async_store_finds_the_master_and_receives_wake_ups(service: RedisService) -> None:
    address = service.address()
    here, there = RedisStore(address), RedisStore(address)
    await here.open()
    await there.open()
    wake_flag = WakeFlag()
    there.wakeups.subscribe(lambda hints: wake_flag.set() if "resize" in hints.due else None)
    await asyncio.to_thread(until, lambda: there.wakeups.healthy)

    await here.perform(Start((new_job(),)))

    assert await wake_flag.wait(60)
    await here.close()
    await there.close()


def test_sentinels_that_are_down_are_skipped(service: RedisService) -> None:
    store = RedisStore(service.address().replace("://", "://127.0.0.1:1,", 1))

    store.open_sync()

    assert len(store.perform_sync(Start((new_job(),)))) == 1
    store.close_sync()


async def test_an_unknown_service_is_an_error_that_names_it(service: RedisService) -> None:
    store = RedisStore(service.address(service="shop", timeout="300"))
    begun = time.monotonic()

    with pytest.raises(StoreUnavailable, match="no sentinel knows the service 'shop'; check the path of the address"):
        store.open_sync()
    with pytest.raises(StoreUnavailable, match="no sentinel knows the service 'shop'"):
        await store.open()

    assert time.monotonic() - begun < 300, "a wrong name is retried until the timeout"
    await store.close()


async def test_unreachable_sentinels_are_an_error_within_the_timeout() -> None:
    store = RedisStore("redis+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster?timeout=0.5")

    with pytest.raises(StoreUnavailable, match="no sentinel answers"):
        store.open_sync()
    with pytest.raises(StoreUnavailable, match="no sentinel answers"):
        await store.open()

    await store.close()


def test_the_address_has_a_service_and_logins_for_both_kinds_of_server() -> None:
    address = read_address(
        "rediss+sentinel://app:secret@one,two:5000/shop/2?sentinel_username=watch&sentinel_password=other&namespace=n"
    )

    assert address.service == "shop"
    assert address.nodes == (("one", 26379), ("two", 5000))
    assert address.login == {"db": 2, "username": "app", "password": "secret"}
    assert address.of_sentinels().login == {"db": 0, "username": "watch", "password": "other"}
    assert address.tls == {}
    assert address.shown == "rediss+sentinel://one,two:5000/shop/2?namespace=n"


def test_an_address_without_a_service_is_refused() -> None:
    with pytest.raises(ValueError, match="the name of the service, such as /mymaster"):
        read_address("redis+sentinel://localhost")


def test_the_logins_of_sentinels_need_sentinels() -> None:
    with pytest.raises(ValueError, match="no option sentinel_password"):
        read_address("redis://localhost?sentinel_password=x")


def test_the_passwords_of_the_master_and_of_the_sentinels_are_both_used() -> None:
    auth = ("sentinel auth-pass mymaster secret", "requirepass other")
    with run_service(sentinel_settings=auth, requirepass="secret", masterauth="secret") as service:
        address = service.address("shop", sentinel_password="other").replace("://", "://:secret@", 1)
        store, without = RedisStore(address), RedisStore(address.replace("sentinel_password=other", "timeout=0.5"))
        store.open_sync()

        assert len(store.perform_sync(Start((new_job(),)))) == 1
        with pytest.raises(StoreUnavailable, match=r"no sentinel answers \(NOAUTH"):
            without.open_sync()
        store.close_sync()
        without.close_sync()


def test_work_continues_after_a_killed_master_and_no_confirmed_start_is_lost(product: Product) -> None:
    with run_service(product=product, down_after=500) as service:
        store = RedisStore(service.address(timeout="30", wait="1"))
        store.open_sync()
        received = threading.Event()
        store.wakeups.subscribe(lambda hints: received.set() if "after" in hints.due else None)
        until(lambda: store.wakeups.healthy)
        killed = service.master
        worker = RetryingWorker(store)
        with ThreadPoolExecutor() as threads:
            working = threads.submit(worker.run)
            until(lambda: len(worker.done) >= 20)
            killed.stop()
            # The new master has no replica, so that it cannot confirm a write.
            without_wait(store)
            before = len(worker.done)
            until(lambda: len(worker.done) >= before + 20)
            worker.stop.set()
            working.result()
        worker.finish()

        assert service.master is not killed
        assert all(chain is not None for chain in store.perform_sync(GetChains(tuple(worker.started))))
        (stats,) = store.perform_sync(GetStats())
        assert stats.counts == {Status.COMPLETED: len(worker.done)}
        until(lambda: store.wakeups.healthy)
        store.perform_sync(Start((new_job("after"),)))
        assert received.wait(60)
        store.close_sync()


def role(server: RedisServer) -> str:
    with suppress(redis.ConnectionError), server.connect() as client:  # a sentinel closes connections in a failover
        return str(client.info("replication")["role"])
    return ""


def has_job(server: RedisServer, namespace: str, id: str) -> bool:
    with server.connect() as client:
        return bool(client.exists(f"{{{namespace}}}:j:{id}"))


def fail_over(service: RedisService) -> bool:
    """Whether the sentinels begin to replace the master. They need a fresh answer of the replica."""
    with suppress(redis.ResponseError), service.sentinels[0].connect() as client:
        return bool(client.execute_command("SENTINEL", "FAILOVER", "mymaster"))
    return False


async def test_async_code_follows_a_master_that_the_sentinels_replace(product: Product) -> None:
    with run_service(product=product) as service:
        store = RedisStore(service.address(timeout="30"))
        hints = RedisWakeups.at(service.address("hints"))
        await store.open()
        await asyncio.to_thread(hints.open)
        await store.perform(Start((new_job(id="before"),)))
        namespace = store.name.rpartition("=")[2]
        replaced = service.master
        (replica,) = [server for server in service.servers if server is not replaced]
        await asyncio.to_thread(until, lambda: has_job(replica, namespace, "before"))

        # The old master stays up and becomes a replica. Then it replies READONLY, or closes the connection.
        await asyncio.to_thread(until, lambda: fail_over(service))
        replacement = asyncio.create_task(asyncio.to_thread(until, lambda: role(replaced) == "slave"))
        while not replacement.done():
            await store.perform(Start((new_job(),)))
        await replacement
        (last,) = await store.perform(Start((new_job(id="last"),)))

        assert not last.deduplicated
        assert (await store.perform(GetChains(("before",))))[0] is not None
        new = await asyncio.to_thread(lambda: service.master)
        assert new is not replaced
        assert has_job(new, namespace, "last")
        await asyncio.to_thread(until, lambda: hints.healthy)
        await asyncio.to_thread(hints.close)
        await store.close()
