"""`rediss://`: the server's certificate is verified, and the client's if the server asks for it."""

from __future__ import annotations

import pytest

from holdfast.engine.operations import ClaimJobs, GetChains, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, new_job
from tests.servers.redis import RedisServer, new_namespace
from tests.stores.redis.tls import AUTHORITY, LOCALHOST, tls_to

TERMS = (TypeTerms("resize", 30_000_000, 25),)


def address(port: int, **options: object) -> str:
    given = {"namespace": new_namespace(), **options}
    return f"rediss://127.0.0.1:{port}?" + "&".join(f"{name}={value}" for name, value in given.items())


def test_jobs_work_over_tls(server: RedisServer) -> None:
    with tls_to(server.socket) as port:
        store = RedisStore(address(port, ssl_ca_certs=AUTHORITY))
        store.open_sync()

        large = bytes(range(256)) * 1000
        store.perform_sync(Start(tuple(new_job(id=f"{number}", input=large) for number in range(20))))
        jobs = store.perform_sync(ClaimJobs(TERMS, 20, "worker", "token"))
        store.perform_sync(Settle(tuple(completed(job, large) for job in jobs)))

        assert [job.input for job in jobs] == [large] * 20
        store.close_sync()


async def test_jobs_work_over_tls_in_async_code(server: RedisServer) -> None:
    with tls_to(server.socket) as port:
        store = RedisStore(address(port, ssl_ca_certs=AUTHORITY))
        await store.open()

        (started,) = await store.perform(Start((new_job(input=b"x" * 1_000_000),)))

        assert await store.perform(GetChains((started.chain.first.id,))) == [started.chain]
        await store.close()


async def test_an_untrusted_certificate_is_refused(server: RedisServer) -> None:
    with tls_to(server.socket) as port:
        store = RedisStore(address(port))

        with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            store.open_sync()
        with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await store.open()

        await store.close()


def test_an_untrusted_certificate_is_accepted_without_verification(server: RedisServer) -> None:
    with tls_to(server.socket) as port:
        store = RedisStore(address(port, ssl_cert_reqs="none"))
        store.open_sync()

        assert len(store.perform_sync(Start((new_job(),)))) == 1
        store.close_sync()


def test_a_client_sends_its_certificate_if_the_server_asks_for_one(server: RedisServer) -> None:
    with tls_to(server.socket, ask_for_certificate=True) as port:
        store = RedisStore(address(port, ssl_ca_certs=AUTHORITY, ssl_certfile=LOCALHOST))
        store.open_sync()
        assert len(store.perform_sync(Start((new_job(),)))) == 1
        store.close_sync()

        unrelated = RedisStore(address(port, ssl_ca_certs=AUTHORITY))
        with pytest.raises(StoreUnavailable):
            unrelated.open_sync()
        unrelated.close_sync()
