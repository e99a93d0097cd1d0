"""The checks of a server when a store opens."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from holdfast.engine.operations import (
    ClaimJobs,
    Examine,
    Explain,
    Filter,
    GetJobs,
    GetStats,
    ListChains,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import NotPermitted, StoreUnavailable
from holdfast.stores.redis import RedisStore, server_checks
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.conversation import ErrorReply
from holdfast.stores.redis.keys import LAYOUT, Keys
from holdfast.testing import ManualClock
from holdfast.testing.builders import completed, new_job
from tests.servers.redis import Product, RedisServer, run_redis, until
from tests.stores.redis.guide import rights_in_guide


def test_a_server_that_evicts_is_refused(product: Product) -> None:
    with run_redis(product=product, maxmemory_policy="allkeys-lru") as server:
        store = RedisStore(server.address())

        with pytest.raises(StoreUnavailable, match="maxmemory-policy is allkeys-lru"):
            store.open_sync()

        store.close_sync()


def test_a_server_that_evicts_is_accepted_with_allow_eviction() -> None:
    with run_redis(maxmemory_policy="allkeys-lru") as server:
        store = RedisStore(server.address(allow_eviction="1"))
        store.open_sync()

        findings = {finding.subject: finding for finding in store.perform_sync(Examine())}

        assert findings["eviction"].level == "error"
        store.close_sync()


async def test_a_replica_is_refused(product: Product) -> None:
    with run_redis(product=product, replicaof="127.0.0.1 1") as replica:
        store = RedisStore(replica.address())

        with pytest.raises(StoreUnavailable, match="it is a slave"):
            await store.open()

        await store.close()


@pytest.mark.parametrize(
    ("settings", "level", "text"),
    [
        ({}, "error", "none"),
        ({"save": "60 1"}, "warning", "snapshots"),
        ({"appendonly": "yes"}, "warning", "every second"),
        ({"appendonly": "yes", "appendfsync": "always"}, "ok", "every write"),
    ],
)
def test_examine_reports_the_durability(settings: dict[str, Any], level: str, text: str) -> None:
    with run_redis(port=0, **settings) as server:
        store = RedisStore(server.address())
        store.open_sync()

        findings = {finding.subject: finding for finding in store.perform_sync(Examine())}

        assert findings["durability"].level == level
        assert text in findings["durability"].detail
        store.close_sync()


@pytest.mark.parametrize(
    ("settings", "level", "text"),
    [({}, "WARNING", "none: "), ({"appendonly": "yes", "appendfsync": "always"}, "INFO", "synced for every write")],
)
async def test_opening_a_store_logs_the_durability(
    settings: dict[str, Any], level: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "holdfast.redis")
    with run_redis(port=0, **settings) as server:
        for asynchronous in (False, True):
            caplog.clear()
            store = RedisStore(server.address())
            await (store.open() if asynchronous else asyncio.to_thread(store.open_sync))

            said = caplog.records[0].getMessage()
            assert re.search(r"(Redis|Valkey) \d+\.\d+\.\d+, master, eviction noeviction, persistence ", said)
            assert text in said
            assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"][: 1 + (level == "WARNING")]
            await store.close()


def test_the_log_and_the_findings_name_product_and_version(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "holdfast.redis")
    with server.connect() as client:
        info = client.info("server")
    store = RedisStore(server.address())

    store.open_sync()
    findings = {finding.subject: finding for finding in store.perform_sync(Examine())}

    own = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"
    assert f": {own}, master, " in caplog.records[0].getMessage()
    assert findings["server"].detail.startswith(f"{own}, master, ")
    store.close_sync()


def test_a_server_that_hides_its_settings_is_only_a_warning() -> None:
    info = b"redis_version:7.0.0\r\naof_enabled:0\r\n"
    server = server_checks.read_server([info, ErrorReply("NOPERM no CONFIG"), ErrorReply("NOPERM no CONFIG")])

    findings = {finding.subject: finding for finding in server_checks.findings(server, read_address("redis://"))}

    assert findings["durability"].level == "warning"


def test_expired_leases_and_late_jobs_are_counted() -> None:
    with run_redis() as server:
        clock = ManualClock()
        store = RedisStore(server.address(), clock=clock)
        store.open_sync()
        assert [finding.detail for finding in store.perform_sync(Examine())][-2:] == ["none", "none"]
        store.perform_sync(Start((new_job(), new_job("publish"))))
        store.perform_sync(ClaimJobs((TypeTerms("resize", 1_000_000, 25),), 1, "worker", "token"))
        clock.advance(600)

        findings = {finding.subject: finding for finding in store.perform_sync(Examine())}

        assert findings["expired leases"].detail.startswith("1 running jobs have lost their worker, the first 599 s")
        assert "'publish' has been due for 600 s" in findings["oldest due job"].detail
        store.close_sync()


def test_a_password_is_used_and_never_shown(product: Product) -> None:
    with run_redis(product=product, requirepass="s3cret") as server:
        address = server.address().replace("redis://", "redis://:s3cret@")
        store = RedisStore(address)
        store.open_sync()
        store.perform_sync(Start((new_job(),)))
        assert "s3cret" not in store.name
        assert "s3cret" not in repr(read_address(address))
        store.close_sync()

        wrong = RedisStore(address.replace("s3cret", "wr0ng"))
        with pytest.raises(StoreUnavailable) as raised:
            wrong.open_sync()

        assert "wr0ng" not in str(raised.value)


def test_the_rights_in_the_guide_are_enough(product: Product) -> None:
    with run_redis(product=product) as server:
        with server.connect() as client:
            client.execute_command(*rights_in_guide())
        store = RedisStore(server.address("shop").replace("redis://", "redis://holdfast:secret@"))
        store.open_sync()
        store.wakeups.subscribe(lambda hints: None)
        until(lambda: store.wakeups.healthy)
        store.perform_sync(Start((new_job(id="a", key="k"), new_job(after=("a",)))))
        (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 30_000_000, 1),), 5, "worker", "token"))
        (settled,) = store.perform_sync(Settle((completed(job),)))
        assert len(settled.unblocked) == 1
        assert {finding.subject for finding in store.perform_sync(Examine())} >= {"eviction", "durability"}
        store.close_sync()

        elsewhere = RedisStore(server.address("other").replace("redis://", "redis://holdfast:secret@"))
        with pytest.raises(NotPermitted, match=r"(?i)perm|can't access"):
            elsewhere.perform_sync(Start((new_job(),)))
        elsewhere.close_sync()


def test_the_user_for_reports_in_the_guide_reads_and_cannot_write(product: Product) -> None:
    with run_redis(product=product) as server:
        with server.connect() as client:
            client.execute_command(*rights_in_guide("reports"))
        writer = RedisStore(server.address("shop"))
        writer.open_sync()
        writer.perform_sync(Start((new_job(id="a", key="k"), new_job(after=("a",)))))
        writer.close_sync()
        store = RedisStore(server.address("shop").replace("redis://", "redis://reports:secret@"))
        store.open_sync()

        assert len(store.perform_sync(ListChains(Filter(), 10))) == 2
        assert [stats.type for stats in store.perform_sync(GetStats())] == ["resize"]
        assert store.perform_sync(Explain("a")) is not None
        assert {finding.subject for finding in store.perform_sync(Examine())} >= {"eviction", "durability"}
        with pytest.raises(NotPermitted, match=r"(?i)perm|can't"):
            store.perform_sync(Start((new_job(),)))
        store.close_sync()


def test_a_write_that_no_replica_confirms_raises() -> None:
    with run_redis() as server:
        store = RedisStore(server.address(wait="1", timeout="1.5"))
        store.open_sync()

        with pytest.raises(StoreUnavailable, match="written, but confirmed by"):
            store.perform_sync(Start((new_job(id="a"),)))

        assert store.perform_sync(GetJobs(("a",))) != [None]
        store.close_sync()


def test_a_server_that_is_not_there_is_unavailable() -> None:
    store = RedisStore("redis://127.0.0.1:1")

    with pytest.raises(StoreUnavailable, match=r"redis://127\.0\.0\.1:1/0"):
        store.open_sync()


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("redis://localhost?colour=red", "no option colour"),
        ("redis://localhost/jobs", "number of a database"),
        ("redis://localhost?namespace={x}", "namespace"),
        ("redis://localhost?ssl_ca_certs=/authority.pem", "ssl_ca_certs .* is for TLS: begin it with rediss://"),
        ("redis+cluster://localhost?ssl_cert_reqs=none", r"begin it with rediss\+cluster://"),
        ("http://localhost", "begins with"),
    ],
)
def test_a_wrong_address_is_refused_with_a_reason(address: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read_address(address)


def test_all_parts_of_an_address_are_read() -> None:
    address = read_address(
        "rediss+cluster://me:pass%40phrase@one:7000,two,[::1]:7002/0?namespace=shop&timeout=2&wait=1"
    )

    assert address.nodes == (("one", 7000), ("two", 6379), ("::1", 7002))
    assert address.login == {"db": 0, "username": "me", "password": "pass@phrase"}
    assert (address.cluster, address.tls, address.namespace) == (True, {}, "shop")
    assert (address.timeout, address.wait, address.waitaof) == (2.0, 1, -1)


def test_the_first_store_that_opens_a_namespace_writes_its_layout(server: RedisServer) -> None:
    store = RedisStore(server.address("marked"))

    store.open_sync()

    with server.connect() as client:
        assert client.hget("{marked}", "layout") == LAYOUT.encode()
    findings = {finding.subject: finding for finding in store.perform_sync(Examine())}
    assert findings["layout"].detail == f"namespace 'marked' is written in layout {LAYOUT}"
    store.close_sync()


async def test_a_namespace_of_another_layout_is_refused_and_left_alone(server: RedisServer) -> None:
    with server.connect() as client:
        client.hset("{foreign}", "layout", "99")
        store = RedisStore(server.address("foreign"))

        with pytest.raises(StoreUnavailable, match=r"'foreign' is written in layout 99.*another namespace="):
            store.open_sync()
        with pytest.raises(StoreUnavailable, match="layout 99"):
            await store.open()

        assert client.hgetall("{foreign}") == {b"layout": b"99"}
    await store.close()


def test_a_namespace_is_in_the_slot_that_the_cluster_says() -> None:
    assert Keys("123456789").slot == 0x31C3
