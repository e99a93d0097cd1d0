"""The server is killed, is at maxmemory, is a replica, or does not answer."""

from __future__ import annotations

import asyncio
import os
import socket
import time
import warnings
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    GetChains,
    GetJobs,
    GetStats,
    Listen,
    Pause,
    Prune,
    Reap,
    Renew,
    ReportProgress,
    RunNow,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, failed, new_job
from holdfast.testing.clock import ManualClock
from tests.servers.redis import Product, run_redis, until

TERMS = (TypeTerms("resize", 30_000_000, 25),)


def claim(store: RedisStore, limit: int = 1) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", new_token()))


def test_a_killed_server_that_syncs_every_write_loses_nothing(product: Product) -> None:
    with run_redis(product=product, appendonly="yes", appendfsync="always") as server:
        store = RedisStore(server.address())
        store.open_sync()
        acknowledged: list[str] = []
        settled: list[str] = []
        for _ in range(5):
            for _ in range(20):
                started = store.perform_sync(Start(tuple(new_job() for _ in range(3))))
                acknowledged += [each.chain.first.id for each in started]
                (job,) = claim(store)
                store.perform_sync(Settle((completed(job),)))
                settled.append(job.id)
            server.restart()

        chains = store.perform_sync(GetChains(tuple(acknowledged)))

        assert len(acknowledged) == 300
        assert all(chain is not None for chain in chains)
        assert {chain.first.id for chain in chains if chain and chain.last.status is Status.COMPLETED} == set(settled)
        (stats,) = store.perform_sync(GetStats())
        assert (stats.counts[Status.COMPLETED], stats.due) == (100, 200)
        store.close_sync()


def test_a_store_reconnects_to_a_restarted_server(product: Product) -> None:
    with run_redis(product=product, appendonly="yes", appendfsync="always") as own:
        store = RedisStore(own.address())
        store.open_sync()
        store.perform_sync(Start((new_job(id="a"),)))

        own.stop()
        with pytest.raises(StoreUnavailable):
            store.perform_sync(GetJobs(("a",)))
        own.start()

        (job,) = store.perform_sync(GetJobs(("a",)))
        assert job is not None
        store.close_sync()


def test_a_forked_child_uses_its_own_connections(store: RedisStore) -> None:
    store.perform_sync(Start((new_job(id="parent"),)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            for number in range(200):
                store.perform_sync(Start((new_job(id=f"child-{number}"),)))
        finally:
            os._exit(0)

    for _ in range(200):
        (job,) = store.perform_sync(GetJobs(("parent",)))
        assert job is not None
        assert job.id == "parent"

    assert os.waitpid(child, 0)[1] == 0
    children = store.perform_sync(GetJobs(tuple(f"child-{number}" for number in range(200))))
    assert all(job is not None for job in children)


def test_a_full_server_refuses_new_jobs_and_finishes_old_ones(product: Product) -> None:
    with run_redis(product=product) as server:
        clock = ManualClock()
        store = RedisStore(server.address(), clock=clock)
        store.open_sync()
        store.perform_sync(Start(tuple(new_job(keep=1) for _ in range(20))))
        first, second, *_ = claim(store, 10)
        later = store.perform_sync(Start((new_job("other", delay=60),)))[0].chain.first.id
        before = store.perform_sync(GetStats())
        with server.connect() as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

        with pytest.raises(StoreUnavailable, match=r"OOM|maxmemory"):
            store.perform_sync(Start((new_job(),)))

        assert store.perform_sync(GetStats()) == before
        third, *_ = claim(store, 1)
        assert store.perform_sync(ReportProgress(third.claim, 0.5, "half")) is None
        assert [job.id for job in store.perform_sync(RunNow((later,)))] == [later]
        store.perform_sync(Pause(("other",)))
        store.perform_sync(Listen("listener", 60_000_000))
        assert store.perform_sync(Renew(((first.claim, 60_000_000),))) == {}
        assert [each.written for each in store.perform_sync(Settle((completed(first), failed(second))))] == [True, True]
        clock.advance(31)
        assert len(store.perform_sync(Reap(("resize",), (), 100))) == 9
        (cancelled,) = store.perform_sync(CancelChains((second.id,)))
        assert cancelled.last.status is Status.FAILED
        pruned = store.perform_sync(Prune(10))
        assert set(pruned) == {first.id, second.id}
        store.close_sync()


def test_connections_to_a_server_that_became_a_replica_are_replaced(product: Product) -> None:
    with run_redis(product=product) as own, ThreadPoolExecutor() as pool, own.connect() as client:
        store = RedisStore(own.address(timeout="30"))
        store.open_sync()
        store.perform_sync(Start((new_job(id="before"),)))
        connections = {each["id"] for each in client.client_list() if each["name"] == "holdfast"}
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        refusals = client.info("stats")["total_error_replies"]

        starting = pool.submit(store.perform_sync, Start((new_job(id="after"),)))
        until(lambda: client.info("stats")["total_error_replies"] > refusals + 1)
        client.execute_command("REPLICAOF", "NO", "ONE")

        (started,) = starting.result(60)
        assert not started.deduplicated
        assert connections.isdisjoint(each["id"] for each in client.client_list())
        store.close_sync()


async def test_async_connections_to_a_server_that_became_a_replica_are_replaced(product: Product) -> None:
    with run_redis(product=product) as own, own.connect() as client:
        store = RedisStore(own.address(timeout="30"))
        await store.open()
        connections = {each["id"] for each in client.client_list() if each["name"] == "holdfast"}
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        refusals = client.info("stats")["total_error_replies"]

        starting = asyncio.create_task(store.perform(Start((new_job(),))))
        await asyncio.to_thread(until, lambda: client.info("stats")["total_error_replies"] > refusals + 1)
        client.execute_command("REPLICAOF", "NO", "ONE")

        (started,) = await starting
        assert not started.deduplicated
        assert connections.isdisjoint(each["id"] for each in client.client_list())
        await store.close()


@contextmanager
def silent_port() -> Generator[int]:
    """A port that accepts connections and never replies."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


async def test_a_cluster_that_does_not_answer_fails_within_the_timeout() -> None:
    with ExitStack() as stack:
        ports = [stack.enter_context(silent_port()) for _ in range(20)]
        nodes = ",".join(f"127.0.0.1:{port}" for port in ports)
        store = RedisStore(f"redis+cluster://{nodes}?timeout=0.5")
        begun = time.monotonic()

        with pytest.raises(StoreUnavailable):
            await asyncio.to_thread(store.open_sync)
        with pytest.raises(StoreUnavailable):
            await store.open()

        # One node may take two seconds. The two calls would take eighty seconds if each node were tried for so long.
        assert time.monotonic() - begun < 30
        await store.close()


async def test_many_tasks_share_the_connections_of_the_pool(product: Product) -> None:
    with run_redis(product=product, maxclients="80") as own:
        store = RedisStore(own.address())
        await store.open()

        started = await asyncio.gather(*(store.perform(Start((new_job(),))) for _ in range(400)))

        assert len({each.chain.first.id for (each,) in started}) == 400
        await store.close()


async def test_cancelled_tasks_release_their_connections(store: RedisStore) -> None:
    for _ in range(2):
        tasks = [asyncio.ensure_future(store.perform(GetStats())) for _ in range(100)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert await asyncio.gather(*(store.perform(GetStats()) for _ in range(100))) == [[]] * 100
    await store.close()
