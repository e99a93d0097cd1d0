"""A start that is sent again, whether or not it had arrived: what it made is not made again, and all else is."""

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


def never_arriving(proxy: Proxy, store: RedisStore, operation: ops.Start) -> list[Started]:
    """The answer to a start that is sent again since the server never heard of it the first time."""
    before = len(proxy.held_back)
    proxy.cut_before(sha_of(store, "start"))
    started = store.perform_sync(operation)
    assert len(proxy.held_back) == before + 1
    return started


def reported(started: list[Started]) -> list[tuple[str, bool]]:
    """The chains, and whether each was there already."""
    return [(each.chain.first.id, each.deduplicated) for each in started]


def completing(job: Record, child: NewJob, script: str) -> Operation[Any]:
    """A completion that starts a chain: by the job's worker, or from outside."""
    if script == "settle":
        return ops.Settle((completed(job, starts=(child,)),))
    return ops.Complete(job.id, job.id, (ops.Completion(output=b"1"),), (child,), (child.id,))


def exist(store: RedisStore, *ids: str) -> list[bool]:
    return [job is not None for job in store.perform_sync(ops.GetJobs(ids))]


def test_a_chain_that_ran_and_was_pruned_before_its_start_was_answered_is_not_started_again(
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


def test_a_start_that_found_a_chain_is_not_a_start_of_its_own_when_that_has_ended(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(id="there", key="k"),)))

        start = ops.Start((new_job(id="new"), new_job(id="never", key="k")))
        started = cut_off(proxy, far, start, at="start", meanwhile=lambda: near.perform_sync(ops.Cancel(("there",))))

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("new", False), ("there", True)]
        assert near.perform_sync(ops.GetJobs(("never",))) == [None]


def test_a_start_that_finds_all_of_its_chains_makes_none_when_it_is_sent_again(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="there"), new_job(id="other", key="k"))))

        start = ops.Start((new_job(id="there"), new_job(id="never", key="k")))
        started = cut_off(proxy, far, start, at="start")

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("there", True), ("other", True)]
        assert near.perform_sync(ops.GetJobs(("never",))) == [None]


def test_a_start_that_never_arrived_finds_what_was_there_when_it_is_sent_again(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, clock):
        near.perform_sync(ops.Start((new_job(id="there"),)))
        clock.advance(1000)

        proxy.cut_before(sha_of(far, "start"))
        started = far.perform_sync(ops.Start((new_job(id="there"), new_job(id="new"))))

        assert [(each.chain.first.id, each.deduplicated) for each in started] == [("there", True), ("new", False)]
        assert not proxy.swallowed


def test_a_key_stays_with_one_chain_though_what_a_start_had_found_is_gone_when_it_is_sent_again(
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


def test_a_chain_is_made_anew_under_the_id_of_a_deleted_one_though_its_start_had_to_be_sent_again(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="order-1"),)))
        near.perform_sync(ops.Delete(("order-1",)))

        started = never_arriving(proxy, far, ops.Start((new_job(id="order-1"),)))

        assert reported(started) == [("order-1", False)]
        assert exist(near, "order-1") == [True]


def test_a_chain_made_a_moment_ago_is_found_by_a_start_that_never_arrived_the_first_time(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="there"),)))

        started = never_arriving(proxy, far, ops.Start((new_job(id="there"), new_job(id="new"))))

        assert reported(started) == [("there", True), ("new", False)]
        assert exist(near, "new") == [True]


def test_of_a_batch_that_never_arrived_all_is_made_whoever_chose_the_ids(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        generated = new_job()
        near.perform_sync(ops.Start((new_job(id="gone"), new_job(id="there"), new_job(id="keyed", key="k"))))
        near.perform_sync(ops.Delete(("gone",)))

        batch = (new_job(id="gone"), generated, new_job(id="there"), new_job(id="never", key="k"), new_job(id="gone"))
        started = never_arriving(proxy, far, ops.Start(batch))

        assert reported(started) == [
            ("gone", False),
            (generated.id, False),
            ("there", True),
            ("keyed", True),
            ("gone", True),
        ]
        assert exist(near, "gone", generated.id, "never") == [True, True, False]


@pytest.mark.parametrize("chosen", ["order-1", None])
def test_what_a_start_made_is_known_to_be_its_own_when_it_is_sent_again(
    server: RedisServer, chosen: str | None
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        job = new_job(id=chosen)

        def run() -> None:
            (running,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
            near.perform_sync(ops.Settle((completed(running),)))

        (started,) = cut_off(proxy, far, ops.Start((job,)), at="start", meanwhile=run)

        assert reported([started]) == [(job.id, False)]
        assert started.chain.last.status is Status.COMPLETED


@pytest.mark.parametrize("times", [1, 2])
def test_a_chain_that_others_made_of_the_same_id_since_is_not_mistaken_for_ones_own(
    server: RedisServer, times: int
) -> None:
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


def test_a_chain_that_was_made_and_deleted_with_those_that_others_made_since_is_not_made_again(
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


def test_what_a_start_made_only_when_it_was_sent_again_is_its_own_when_it_is_sent_once_more(
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


def test_a_key_whose_chain_of_the_same_batch_is_deleted_is_free_when_the_batch_is_sent_again(
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
def test_a_chain_that_a_completion_started_under_a_chosen_id_is_no_starts_own(server: RedisServer, script: str) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="parent"), new_job(id="child"))))
        near.perform_sync(ops.Delete(("child",)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        child = new_job(id="child")
        completion = completing(job, child, script)

        # The completion does not arrive at first, and makes its chain when it is sent again.
        proxy.cut_before(sha_of(far, script))
        far.perform_sync(completion)
        assert exist(near, "child") == [True]

        # Nor does a start of the same id, which finds it.
        assert reported(never_arriving(proxy, far, ops.Start((child,)))) == [("child", True)]

        # And deleted, it may be made again.
        near.perform_sync(ops.Delete(("child",)))
        assert reported(never_arriving(proxy, far, ops.Start((child,)))) == [("child", False)]
        assert exist(near, "child") == [True]


@pytest.mark.parametrize("script", ["settle", "complete"])
def test_a_completion_sent_again_does_not_make_the_chain_that_was_deleted_since(
    server: RedisServer, script: str
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="parent"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        child = new_job(id="child")
        completion = completing(job, child, script)

        cut_off(proxy, far, completion, at=script, meanwhile=lambda: near.perform_sync(ops.Delete(("child",))))

        assert exist(near, "parent", "child") == [True, False]
