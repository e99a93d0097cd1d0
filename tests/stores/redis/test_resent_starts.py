"""A resent start, which had arrived or not: chains that it created are not created again, and all others are."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.engine import operations as ops
from holdfast.engine.operations import Operation, Started
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, new_job
from tests.servers.redis import RedisServer
from tests.stores.redis.every_verb import TERMS
from tests.stores.redis.proxy import Proxy, by_proxy, cut_off, sha_of


def resent_without_arriving(proxy: Proxy, store: RedisStore, operation: ops.Start) -> list[Started]:
    """The result of a resent start whose first request never reached the server."""
    before = len(proxy.held_back)
    proxy.cut_before(sha_of(store, "start"))
    started = store.perform_sync(operation)
    assert len(proxy.held_back) == before + 1
    return started


def reported(started: list[Started]) -> list[tuple[str, bool]]:
    """The chains, and whether each existed already."""
    return [(each.chain.first.id, each.deduplicated) for each in started]


def completing(job: Record, child: NewJob, script: str) -> Operation[Any]:
    """A completion that starts a chain: by the worker, or from outside."""
    if script == "settle":
        return ops.Settle((completed(job, starts=(child,)),))
    return ops.Complete(job.id, job.id, (ops.Completion(output=b"1"),), (child,), (child.id,))


def exist(store: RedisStore, *ids: str) -> list[bool]:
    return [job is not None for job in store.perform_sync(ops.GetJobs(ids))]


def test_a_resent_start_does_not_create_a_chain_that_ran_and_was_pruned_since(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):

        def run_and_prune() -> None:
            jobs = near.perform_sync(ops.ClaimJobs(TERMS, 10, "worker", "token"))
            near.perform_sync(ops.Settle(tuple(completed(job) for job in jobs)))
            pruned = near.perform_sync(ops.Prune(10))
            assert sorted(pruned) == ["one", "two"]

        start = ops.Start((new_job(id="one", keep=0), new_job(id="two", keep=0)))
        started = cut_off(proxy, far, start, at="start", meanwhile=run_and_prune)

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("one", False), ("two", False)]
        assert near.perform_sync(ops.GetJobs(("one", "two"))) == [None, None]
        assert near.perform_sync(ops.GetStats()) == []


def test_a_resent_start_that_found_a_chain_creates_none_after_that_chain_ended(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(id="there", key="k"),)))

        start = ops.Start((new_job(id="new"), new_job(id="never", key="k")))
        started = cut_off(
            proxy, far, start, at="start", meanwhile=lambda: near.perform_sync(ops.CancelChains(("there",)))
        )

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("new", False), ("there", True)]
        assert near.perform_sync(ops.GetJobs(("never",))) == [None]


def test_a_resent_start_that_found_all_chains_creates_none(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="there"), new_job(id="other", key="k"))))

        start = ops.Start((new_job(id="there"), new_job(id="never", key="k")))
        started = cut_off(proxy, far, start, at="start")

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("there", True), ("other", True)]
        assert near.perform_sync(ops.GetJobs(("never",))) == [None]


def test_a_resent_start_that_never_arrived_finds_existing_chains(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, clock):
        near.perform_sync(ops.Start((new_job(id="there"),)))
        clock.advance(1000)

        proxy.cut_before(sha_of(far, "start"))
        started = far.perform_sync(ops.Start((new_job(id="there"), new_job(id="new"))))

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("there", True), ("new", False)]
        assert not proxy.swallowed


def test_a_key_keeps_one_chain_when_the_chain_that_a_start_found_was_replaced(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="there", key="k"),)))

        def replace() -> None:
            near.perform_sync(ops.Delete(("there",)))
            near.perform_sync(ops.Start((new_job(id="another", key="k"),)))

        start = ops.Start((new_job(id="new"), new_job(id="never", key="k")))
        started = cut_off(proxy, far, start, at="start", meanwhile=replace)

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("new", False), ("another", True)]
        assert near.perform_sync(ops.GetJobs(("never",))) == [None]


def test_a_resent_start_creates_a_chain_under_the_id_of_a_deleted_one(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="order-1"),)))
        near.perform_sync(ops.Delete(("order-1",)))

        started = resent_without_arriving(proxy, far, ops.Start((new_job(id="order-1"),)))

        assert reported(started) == [("order-1", False)]
        assert exist(near, "order-1") == [True]


def test_a_resent_start_that_never_arrived_finds_a_chain_created_just_before(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="there"),)))

        started = resent_without_arriving(proxy, far, ops.Start((new_job(id="there"), new_job(id="new"))))

        assert reported(started) == [("there", True), ("new", False)]
        assert exist(near, "new") == [True]


def test_a_resent_batch_that_never_arrived_creates_chosen_and_generated_ids(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        generated = new_job()
        near.perform_sync(ops.Start((new_job(id="gone"), new_job(id="there"), new_job(id="keyed", key="k"))))
        near.perform_sync(ops.Delete(("gone",)))

        batch = (new_job(id="gone"), generated, new_job(id="there"), new_job(id="never", key="k"), new_job(id="gone"))
        started = resent_without_arriving(proxy, far, ops.Start(batch))

        assert reported(started) == [
            ("gone", False),
            (generated.id, False),
            ("there", True),
            ("keyed", True),
            ("gone", True),
        ]
        assert exist(near, "gone", generated.id, "never") == [True, True, False]


@pytest.mark.parametrize("chosen", ["order-1", None])
def test_a_resent_start_recognises_the_chain_that_it_created(server: RedisServer, chosen: str | None) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        job = new_job(id=chosen)

        def run() -> None:
            (running,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
            near.perform_sync(ops.Settle((completed(running),)))

        (started,) = cut_off(proxy, far, ops.Start((job,)), at="start", meanwhile=run)

        assert reported([started]) == [(job.id, False)]
        assert started.chain.last.status is Status.COMPLETED


@pytest.mark.parametrize("times", [1, 2])
def test_a_resent_start_does_not_take_a_later_chain_of_the_same_id_for_its_own(server: RedisServer, times: int) -> None:
    with by_proxy(server) as (proxy, far, near, _):

        def replace() -> None:
            for _ in range(times):
                near.perform_sync(ops.Delete(("order-1",)))
                near.perform_sync(ops.Start((new_job(id="order-1", input=b'"another"'),)))

        (started,) = cut_off(proxy, far, ops.Start((new_job(id="order-1"),)), at="start", meanwhile=replace)

        (job,) = near.perform_sync(ops.GetJobs(("order-1",)))
        assert job is not None
        assert reported([started]) == [("order-1", False)]
        assert (started.chain.first.seq, job.seq) == (1, 1 + times)
        assert started.chain.first.input == b"{}"


def test_a_resent_start_creates_nothing_after_its_chain_and_a_later_one_were_deleted(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):

        def replace_and_delete() -> None:
            near.perform_sync(ops.Delete(("order-1",)))
            near.perform_sync(ops.Start((new_job(id="order-1"),)))
            near.perform_sync(ops.Delete(("order-1",)))

        (started,) = cut_off(proxy, far, ops.Start((new_job(id="order-1"),)), at="start", meanwhile=replace_and_delete)

        assert reported([started]) == [("order-1", False)]
        assert exist(near, "order-1") == [False]


def test_a_second_resend_recognises_a_chain_that_the_first_resend_created(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="order-1"),)))

        def delete_and_cut_again() -> None:
            near.perform_sync(ops.Delete(("order-1",)))
            proxy.cut_at(sha_of(far, "start"))

        proxy.cut_at(sha_of(far, "start"), delete_and_cut_again)
        batch = (new_job(id="order-1"), new_job(id="new"), new_job(id="order-1"), new_job(id="new"))
        started = far.perform_sync(ops.Start(batch))

        assert len(proxy.swallowed) == 2
        assert reported(started) == [("order-1", False), ("new", False), ("order-1", True), ("new", True)]
        assert exist(near, "order-1", "new") == [True, True]


def test_a_resent_batch_can_use_a_key_whose_chain_of_the_batch_was_deleted(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        batch = (new_job(id="first", key="k"), new_job(id="second", key="k"))

        started = cut_off(
            proxy, far, ops.Start(batch), at="start", meanwhile=lambda: near.perform_sync(ops.Delete(("first",)))
        )

        assert reported(started) == [("first", False), ("second", False)]
        assert exist(near, "first", "second") == [False, True]


@pytest.mark.parametrize("script", ["settle", "complete"])
def test_a_resent_start_does_not_take_a_chain_of_a_completion_for_its_own(server: RedisServer, script: str) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="parent"), new_job(id="child"))))
        near.perform_sync(ops.Delete(("child",)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        child = new_job(id="child")
        completion = completing(job, child, script)

        # The first request of the completion does not arrive; the resend creates the chain.
        proxy.cut_before(sha_of(far, script))
        far.perform_sync(completion)
        assert exist(near, "child") == [True]

        # A start of the same id, which does not arrive at first either, finds the chain.
        assert reported(resent_without_arriving(proxy, far, ops.Start((child,)))) == [("child", True)]

        # After a delete, the start creates it.
        near.perform_sync(ops.Delete(("child",)))
        assert reported(resent_without_arriving(proxy, far, ops.Start((child,)))) == [("child", False)]
        assert exist(near, "child") == [True]


@pytest.mark.parametrize("script", ["settle", "complete"])
def test_a_resent_completion_does_not_create_a_chain_that_was_deleted_since(server: RedisServer, script: str) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="parent"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        child = new_job(id="child")
        completion = completing(job, child, script)

        cut_off(proxy, far, completion, at=script, meanwhile=lambda: near.perform_sync(ops.Delete(("child",))))

        assert exist(near, "parent", "child") == [True, False]


def test_a_resent_start_that_replaced_a_chain_is_not_written_again(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one", key="k", input=b"1", delay=60),)))

        def run() -> None:
            (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 10, "worker", "token"))
            assert job.input == b"2"
            near.perform_sync(ops.Start((new_job(id="two", key="k", input=b"3", dedup="waiting"),)))

        start = ops.Start((new_job(key="k", input=b"2", dedup="waiting"),))
        started = cut_off(proxy, far, start, at="start", meanwhile=run)

        assert reported(started) == [("one", True)]
        jobs = near.perform_sync(ops.GetJobs(("one", "two")))
        assert [job and job.input for job in jobs] == [b"2", b"3"]
        assert len(near.perform_sync(ops.ListJobs(ops.Filter(), 10))) == 2
