"""Real clusters: namespaces on several nodes, a slot that moves, a primary that is killed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast import Client, Jobs, Worker
from holdfast.core.ids import new_token
from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, GetChains, GetStats, Settle, Start, TypeTerms
from holdfast.engine.wake_flag import WakeFlag
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.keys import Keys
from holdfast.testing.builders import completed, new_job
from holdfast.testing.clock import ManualClock
from tests.servers.redis import PRODUCTS, Product, RedisCluster, RedisServer, new_namespace, run_cluster, until
from tests.stores.redis.every_verb import READING, WRITING, prepared
from tests.stores.redis.guide import rights_in_guide
from tests.stores.redis.retrying_worker import RetryingWorker, without_wait

TERMS = (TypeTerms("resize", 30_000_000, 25),)
FAILOVER = 0.9
"""Minimum seconds without a primary after a kill: nearly the `cluster_node_timeout`."""


@pytest.fixture(scope="module", params=PRODUCTS)
def cluster(request: pytest.FixtureRequest) -> Generator[RedisCluster]:
    with run_cluster(product=request.param) as cluster:
        yield cluster


def test_a_namespace_works_on_each_node(cluster: RedisCluster) -> None:
    for node in cluster.nodes:
        namespace = _namespace_on(cluster, node)
        store = RedisStore(cluster.address(namespace))
        store.open_sync()
        store.perform_sync(Start(tuple(new_job(key=str(n)) for n in range(5))))
        jobs = store.perform_sync(ClaimJobs(TERMS, 5, "worker", new_token()))
        store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
        (stats,) = store.perform_sync(GetStats())
        assert stats.counts == {Status.COMPLETED: 5}
        store.close_sync()


def _namespace_on(cluster: RedisCluster, node: RedisServer) -> str:
    """A new namespace whose slot this node serves: about every third one."""
    while cluster.owner(Keys(namespace := new_namespace()).slot) is not node:
        pass
    return namespace


async def test_two_slots_are_shards_of_one_client(cluster: RedisCluster) -> None:
    jobs = Jobs()

    @jobs.job
    async def double(number: int) -> int:
        return number * 2

    one, other = cluster.nodes[:2]
    shards = {name: cluster.address(_namespace_on(cluster, node)) for name, node in (("one", one), ("other", other))}
    async with Client(shards, jobs) as client, Worker(client):
        chains = [await client.start(double.bind(n), shard=("one", "other")[n % 2]) for n in range(10)]
        assert [await client.wait(chain, timeout=60) for chain in chains] == [n * 2 for n in range(10)]
        assert len((await client.list_chains()).items) == 10


async def test_an_async_store_finds_its_node(cluster: RedisCluster) -> None:
    for _ in range(6):
        store = RedisStore(cluster.address())
        await store.open()
        (started,) = await store.perform(Start((new_job(),)))
        assert not started.deduplicated
        await store.close()


async def test_wake_ups_arrive_on_a_cluster(cluster: RedisCluster) -> None:
    address = cluster.address()
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


def test_every_verb_works_on_a_cluster(cluster: RedisCluster) -> None:
    for script, making in WRITING.values():
        clock = ManualClock()
        store = RedisStore(cluster.address(timeout="30"), clock=clock)
        store.open_sync()
        store.perform_sync(making(*prepared(store, clock)))
        for operation in READING if script == "start" else ():
            store.perform_sync(operation)
        store.close_sync()


def test_opening_a_store_on_a_cluster_logs_the_durability(
    cluster: RedisCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "holdfast.redis")
    store = RedisStore(cluster.address())

    store.open_sync()

    said, warned = [record.getMessage() for record in caplog.records]
    assert ", master of a cluster, eviction noeviction, persistence none" in said
    assert "keeps nothing on disk" in warned
    store.close_sync()


def test_the_rights_in_the_guide_are_enough_on_a_cluster(cluster: RedisCluster) -> None:
    for node in cluster.nodes:
        with node.connect() as client:
            client.execute_command(*rights_in_guide())
    store = RedisStore(cluster.address("shop").replace("://", "://holdfast:secret@"))

    store.open_sync()
    store.wakeups.subscribe(lambda hints: None)
    until(lambda: store.wakeups.healthy)

    assert len(store.perform_sync(Start((new_job(key="k"),)))) == 1
    store.close_sync()


def test_a_plain_address_of_a_cluster_is_refused(cluster: RedisCluster) -> None:
    store = RedisStore(cluster.nodes[0].address())

    with pytest.raises(StoreUnavailable, match=r"Use redis\+cluster://"):
        store.open_sync()

    store.close_sync()


def test_jobs_continue_while_their_slot_moves(cluster: RedisCluster) -> None:
    namespace = new_namespace()
    slot = Keys(namespace).slot
    store = RedisStore(cluster.address(namespace, timeout="20"))
    store.open_sync()
    store.perform_sync(Start(tuple(new_job() for _ in range(200))))
    started: list[str] = []
    done: list[str] = []
    moved = threading.Event()

    def work() -> None:
        after = 0
        while after < 20:
            after += moved.is_set()
            started.append(store.perform_sync(Start((new_job(),)))[0].chain.first.id)
            jobs = store.perform_sync(ClaimJobs(TERMS, 2, "worker", new_token()))
            answers = store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
            done.extend(job.id for job, answer in zip(jobs, answers, strict=True) if answer.written)

    working = threading.Thread(target=work)
    working.start()
    source = cluster.owner(slot)
    target = next(node for node in cluster.nodes if node is not source)
    keys_moved = move_slot(cluster, slot, source=source, target=target)
    move_slot_at_once(cluster, slot, source=target, target=source)
    moved.set()
    working.join()

    assert keys_moved > 200
    assert cluster.owner(slot) is source
    (stats,) = store.perform_sync(GetStats())
    assert len(done) == len(set(done))
    # While the slot moves slowly, all jobs may be completed.
    pending = 200 + len(started) - len(done)
    assert stats.counts == {Status.COMPLETED: len(done)} | ({Status.PENDING: pending} if pending else {})
    assert all(chain is not None for chain in store.perform_sync(GetChains(tuple(started))))
    store.close_sync()


async def test_wake_ups_follow_their_slot_to_another_node(cluster: RedisCluster) -> None:
    namespace = new_namespace()
    slot = Keys(namespace).slot
    here, there = RedisStore(cluster.address(namespace)), RedisStore(cluster.address(namespace))
    await here.open()
    await there.open()
    wake_flag, begun = WakeFlag(), list[bool]()
    there.wakeups.subscribe(lambda hints: wake_flag.set() if "resize" in hints.due else begun.append(hints.anything))
    await asyncio.to_thread(until, lambda: there.wakeups.healthy)
    source = cluster.owner(slot)
    target = next(node for node in cluster.nodes if node is not source)

    await asyncio.to_thread(move_slot, cluster, slot, source=source, target=target)
    # With sharded pub/sub, the subscriber must reconnect, and its listeners learn of the loss and of the new
    # subscription; without, every node forwards all messages.
    sharded = there._features.publish == "SPUBLISH"  # pyright: ignore[reportPrivateUsage]
    await asyncio.to_thread(until, lambda: len(begun) >= 1 + 2 * sharded and there.wakeups.healthy)
    await here.perform(Start((new_job(),)))

    assert await wake_flag.wait(60)
    await here.close()
    await there.close()


def move_slot(cluster: RedisCluster, slot: int, *, source: RedisServer, target: RedisServer) -> int:
    """Move a slot as redis-cli does, a few keys at a time. Returns the number of moved keys."""
    with source.connect() as source_client, target.connect() as target_client:
        ids = {
            node: client.execute_command("CLUSTER MYID").decode()
            for node, client in ((0, source_client), (1, target_client))
        }
        target_client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[0])
        source_client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[1])
        moved = 0
        while keys := source_client.execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
            source_client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
            moved += len(keys)
        target_client.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])
        source_client.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])
    wait_for_owner(cluster, slot, target)
    return moved


def move_slot_at_once(cluster: RedisCluster, slot: int, *, source: RedisServer, target: RedisServer) -> None:
    """Move a slot with all its keys at once, as Valkey 9.0 can; otherwise key by key."""
    with source.connect() as source_client, target.connect() as target_client:
        node = target_client.execute_command("CLUSTER MYID").decode()
        if b"MIGRATESLOTS" in b"".join(source_client.execute_command("CLUSTER HELP")):
            source_client.execute_command("CLUSTER MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", node)
        else:
            move_slot(cluster, slot, source=source, target=target)
    wait_for_owner(cluster, slot, target)


def wait_for_owner(cluster: RedisCluster, slot: int, owner: RedisServer) -> None:
    for node in cluster.nodes:
        with node.connect() as client:
            until(lambda client=client: owner_port(client, slot) == owner.port)  # type: ignore[misc]


def owner_port(client: Any, slot: int) -> int:
    for first, last, (_, port, *_), *_ in client.execute_command("CLUSTER SLOTS"):
        if first <= slot <= last:
            return int(port)
    return 0


def test_work_continues_after_a_killed_primary_and_no_acknowledged_start_is_lost(product: Product) -> None:
    with run_cluster(replicas=1, product=product) as cluster:
        namespace = new_namespace()
        store = RedisStore(cluster.address(namespace, timeout="30", wait="1"))
        store.open_sync()
        primary = cluster.owner(Keys(namespace).slot)
        worker = RetryingWorker(store)
        with ThreadPoolExecutor() as threads:
            working = threads.submit(worker.run)
            until(lambda: len(worker.done) >= 20)
            primary.stop()
            without_wait(store)
            before = len(worker.done)
            until(lambda: len(worker.done) >= before + 20)
            worker.stop.set()
            working.result()
        worker.finish()

        assert worker.longest > FAILOVER, "no call was in progress while there was no primary"
        assert all(chain is not None for chain in store.perform_sync(GetChains(tuple(worker.started))))
        assert len(worker.done) == len(set(worker.done))
        (stats,) = store.perform_sync(GetStats())
        assert stats.counts == {Status.COMPLETED: len(worker.done)}
        store.close_sync()
