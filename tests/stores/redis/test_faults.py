"""The server dies, is full, or is cut off between a request and its answer."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.ids import new_token
from holdfast.job import Record, Status
from holdfast.operations import (
    Cancel,
    ClaimJobs,
    Complete,
    Delete,
    GetChains,
    GetJobs,
    GetStats,
    Keep,
    Operation,
    Prune,
    Reap,
    Renew,
    RetryJobs,
    RunNow,
    Settle,
    Start,
    Step,
    TypeTerms,
)
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, run_redis
from tests.stores.redis.proxy import proxy_to

TERMS = (TypeTerms("resize", 30_000_000, 25),)


def claim(store: RedisStore, limit: int = 1) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", new_token()))


def test_a_killed_server_that_syncs_every_write_loses_nothing() -> None:
    with run_redis(appendonly="yes", appendfsync="always") as server:
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


def test_a_server_that_comes_back_is_met_again(server: RedisServer) -> None:
    with run_redis(appendonly="yes", appendfsync="always") as own:
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


def test_a_forked_child_talks_over_connections_of_its_own(store: RedisStore) -> None:
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


def test_a_full_server_refuses_new_jobs_and_lets_go_of_old_ones() -> None:
    with run_redis() as server:
        clock = ManualClock()
        store = RedisStore(server.address(), clock=clock)
        store.open_sync()
        store.perform_sync(Start(tuple(new_job(keep=1) for _ in range(20))))
        first, second, *_ = claim(store, 10)
        before = store.perform_sync(GetStats())
        with server.connect() as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

        with pytest.raises(StoreUnavailable, match=r"OOM|maxmemory"):
            store.perform_sync(Start((new_job(),)))

        assert store.perform_sync(GetStats()) == before
        assert store.perform_sync(Renew(((first.claim, 60_000_000),))) == {}
        assert [each.written for each in store.perform_sync(Settle((completed(first), failed(second))))] == [True, True]
        clock.advance(31)
        assert len(store.perform_sync(Reap(("resize",), (), 100))) == 8
        (cancelled,) = store.perform_sync(Cancel((second.id,)))
        assert cancelled.last.status is Status.FAILED
        pruned = store.perform_sync(Prune(10))
        assert set(pruned) == {first.id, second.id}
        store.close_sync()


def prepared(store: RedisStore) -> Record:
    """A pending, a running and a failed job; answers the running one."""
    store.perform_sync(Start((new_job(id="failed"), new_job(id="running"), new_job(id="pending", delay=60))))
    broken, running = claim(store, 2)
    store.perform_sync(Settle((failed(broken),)))
    return running


VERBS: dict[str, Callable[[Record], Operation[Any]]] = {
    "start": lambda running: Start((new_job(id="new", key="k"), new_job(id="newer", after=("new",)))),
    "claim": lambda running: ClaimJobs((TypeTerms("other", 1, 1), *TERMS), 5, "worker", "token"),
    "renew": lambda running: Renew(((running.claim, 5_000_000),)),
    "settle": lambda running: Settle((completed(running, starts=(new_job(id="side"),)),)),
    "settle with continuation": lambda running: Settle((continued(running, next_job(running, id="next")),)),
    "reap": lambda running: Reap(("resize",), (), 10),
    "complete": lambda running: Complete("running", "running", (Step(output=b"1"),), (new_job(id="side"),), ("side",)),
    "cancel": lambda running: Cancel(("running", "pending")),
    "retry": lambda running: RetryJobs(("failed",)),
    "run now": lambda running: RunNow(("pending",)),
    "delete": lambda running: Delete(("running", "pending")),
    "keep": lambda running: Keep(("failed",), 5),
    "prune": lambda running: Prune(10),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_request_whose_answer_was_cut_off_is_answered_as_if_it_had_not_been(verb: str, server: RedisServer) -> None:
    def outcome(cut: bool) -> object:
        with proxy_to(server.socket) as proxy:
            clock = ManualClock()
            store = RedisStore(server.tcp_address(port=proxy.port), clock=clock)
            store.open_sync()
            if verb == "prune":
                store.perform_sync(Start((new_job(id="gone", keep=0),)))
                store.perform_sync(Settle(tuple(completed(job) for job in claim(store))))
            running = prepared(store)
            operation = VERBS[verb](running)
            store.perform_sync(Start((new_job(id="due"),)))
            clock.advance(31 if verb == "reap" else 1)
            if verb in ("claim", "settle with continuation", "settle"):
                # The server knows the script already, so that the request that is cut off is the one that counts.
                warm_up(store, operation.verb)
            if cut:
                proxy.cut_after(0)

            answer = store.perform_sync(operation)

            if cut:
                assert proxy.cuts == 1
            everything = store.perform_sync(
                GetJobs(("failed", "running", "pending", "new", "newer", "side", "next", "due"))
            )
            store.close_sync()
            return hide(answer), [hide(job) for job in everything]

    assert outcome(cut=True) == outcome(cut=False)


def warm_up(store: RedisStore, verb: str) -> None:
    if verb == "claim":
        store.perform_sync(ClaimJobs((TypeTerms("none", 1, 1),), 1, "worker", "token"))


def hide(answer: object) -> str:
    """An answer as text, without what differs from run to run."""
    return re.sub(r"token='[^']*'", "", repr(answer))
