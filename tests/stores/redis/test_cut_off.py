"""A connection that is cut between a request and its answer: it is asked again, and what it asked for is done once."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.engine import operations as ops
from holdfast.errors import JobNotFound
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.verbs.plans import HELPER_SCRIPTS, VERBS
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, rescheduled
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, new_namespace
from tests.stores.redis.every_verb import NAMES, TERMS, WRITING, prepared
from tests.stores.redis.proxy import by_proxy, cut_off, sha_of


def test_every_script_that_writes_is_cut_off_here() -> None:
    sources = files("holdfast.stores.redis.scripts")
    writing = {
        each for each in (*VERBS, *HELPER_SCRIPTS) if "-- flags: no-writes" not in (sources / f"{each}.lua").read_text()
    }

    # Said again, the layout of a namespace is the same.
    assert writing - {"layout"} == {script for script, _ in WRITING.values()}


@pytest.mark.parametrize("case", WRITING)
def test_what_was_cut_off_is_answered_and_done_as_if_it_had_not_been(case: str, server: RedisServer) -> None:
    script, making = WRITING[case]

    def outcome(cut: bool) -> object:
        with by_proxy(server) as (proxy, far, near, clock):
            operation = making(*prepared(near, clock))
            if case == "reap":
                clock.advance(31)
            before = near.perform_sync(ops.ReadEvents(0, 10_000))

            answer = cut_off(proxy, far, operation, at=script) if cut else far.perform_sync(operation)

            events = near.perform_sync(ops.ReadEvents(before[-1].seq, 10_000))
            jobs = near.perform_sync(ops.GetJobs(NAMES))
            history = [near.perform_sync(ops.GetHistory(name)) for name in NAMES[:6]]
            return [
                hide(each)
                for each in (reported(case, answer), events, jobs, history, near.perform_sync(ops.GetStats()))
            ]

    assert outcome(cut=True) == outcome(cut=False)


def reported(case: str, answer: Any) -> Any:
    """Whom a completion unblocked is said once, to whom the answer was cut off: they are told by wake-ups as well."""
    return [each.written for each in answer] if case in ("release", "settle with very many who wait") else answer


def hide(answer: object) -> str:
    """An answer as text, without what differs from run to run."""
    return re.sub(r"token='[^']*'", "", repr(answer))


def test_a_cancellation_is_not_made_again_after_somebody_retried_the_job(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(id="job"),)))

        cut_off(
            proxy, far, ops.Cancel(("job",)), at="cancel", meanwhile=lambda: near.perform_sync(ops.RetryJobs(("job",)))
        )

        (job,) = near.perform_sync(ops.GetJobs(("job",)))
        assert job is not None
        assert job.status is Status.PENDING


@pytest.mark.parametrize("steps", [1, 2])
def test_a_settlement_is_not_lost_because_its_job_was_pruned_before_it_was_answered(
    server: RedisServer, steps: int
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one", keep=0),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "first"))
        if steps == 2:
            near.perform_sync(ops.Settle((continued(job, next_job(job, "resize", keep=0)),)))
            (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "second"))

        settle = ops.Settle((completed(job),))
        (settled,) = cut_off(proxy, far, settle, at="settle", meanwhile=lambda: near.perform_sync(ops.Prune(10)))

        assert settled.written
        assert near.perform_sync(ops.GetJobs(("one",))) == [None]


async def test_async_code_asks_again_too(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, clock):
        store = RedisStore(server.tcp_address(far.name.rpartition("=")[2], port=proxy.port), clock=clock)
        await store.open()
        await store.perform(ops.Start((new_job(id="job"),)))
        proxy.cut_at(sha_of(store, "cancel"), lambda: near.perform_sync(ops.RetryJobs(("job",))))

        (chain,) = await store.perform(ops.Cancel(("job",)))

        assert len(proxy.swallowed) == 1
        assert chain.last.status is Status.PENDING
        await store.close()


def test_a_settlement_is_known_when_its_worker_sends_it_anew_though_its_job_is_pruned(store: RedisStore) -> None:
    store.perform_sync(ops.Start((new_job(id="one", keep=0),)))
    (job,) = store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(ops.Settle((completed(job),)))
    assert store.perform_sync(ops.Prune(10)) == ["one"]

    (again,) = store.perform_sync(ops.Settle((completed(job),)))
    (other,) = store.perform_sync(ops.Settle((failed(job),)))

    assert again.written
    assert other.lost == "not_found"


def test_a_settlement_is_not_lost_because_its_chain_was_deleted_and_made_anew_before_it_was_answered(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))

        def make_anew() -> None:
            near.perform_sync(ops.Delete(("one",)))
            near.perform_sync(ops.Start((new_job(id="one"),)))

        (settled,) = cut_off(proxy, far, ops.Settle((completed(job),)), at="settle", meanwhile=make_anew)

        assert settled.written
        (anew,) = near.perform_sync(ops.GetJobs(("one",)))
        assert anew is not None
        assert anew.status is Status.PENDING


def test_a_settlement_is_not_lost_because_another_took_the_job_before_it_was_answered(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        taken: list[Record] = []

        def take() -> None:
            (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "another", "other"))
            taken.append(job)

        (settled,) = cut_off(proxy, far, ops.Settle((rescheduled(job),)), at="settle", meanwhile=take)

        assert settled.written
        (own,) = near.perform_sync(ops.Settle((completed(taken[0]),)))
        assert own.written


def test_a_settlement_is_known_when_its_worker_sends_it_anew_though_another_took_the_job_since(
    store: RedisStore,
) -> None:
    store.perform_sync(ops.Start((new_job(id="one"),)))
    (job,) = store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(ops.Settle((rescheduled(job),)))
    (taken,) = store.perform_sync(ops.ClaimJobs(TERMS, 1, "another", "other"))

    (again,) = store.perform_sync(ops.Settle((rescheduled(job),), again=True))
    (different,) = store.perform_sync(ops.Settle((completed(job),), again=True))
    (own,) = store.perform_sync(ops.Settle((completed(taken),)))
    (late,) = store.perform_sync(ops.Settle((rescheduled(job),), again=True))

    assert [again.written, own.written, late.written] == [True, True, True]
    assert different.lost == "taken_by_another_worker"


def test_an_attempt_that_an_operator_ended_is_not_one_that_its_worker_settled(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        near.perform_sync(ops.Cancel(("one",)))

        proxy.cut_before(sha_of(far, "settle"))
        (settled,) = far.perform_sync(ops.Settle((Settlement(job.claim, Status.CANCELLED, "cancelled"),)))

        assert settled.lost == "cancelled"


@pytest.mark.parametrize("verb", [ops.RunNow, ops.RetryJobs])
def test_a_job_that_was_deleted_before_its_operator_was_answered_is_not_found(
    server: RedisServer, verb: type[ops.RunNow] | type[ops.RetryJobs]
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="job", delay=60),)))
        if verb is ops.RetryJobs:
            near.perform_sync(ops.Cancel(("job",)))

        with pytest.raises(JobNotFound):
            cut_off(
                proxy, far, verb(("job",)), at=verb(()).verb, meanwhile=lambda: near.perform_sync(ops.Delete(("job",)))
            )

        assert len(proxy.swallowed) == 1


@pytest.mark.parametrize("paused", [True, False])
def test_who_paused_or_resumed_last_has_the_last_word(server: RedisServer, paused: bool) -> None:
    first, last = (ops.Pause(("resize",)), ops.Resume(("resize",)))[:: 1 if paused else -1]
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(),)))

        cut_off(proxy, far, first, at=first.verb, meanwhile=lambda: near.perform_sync(last))

        (stats,) = near.perform_sync(ops.GetStats())
        assert stats.paused is not paused


def test_a_request_that_arrives_after_it_was_sent_again_is_not_carried_out_twice(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))

        proxy.cut_before(sha_of(far, "cancel"))
        far.perform_sync(ops.Cancel(("one",)))
        near.perform_sync(ops.RetryJobs(("one",)))
        proxy.let_arrive()

        (job,) = near.perform_sync(ops.GetJobs(("one",)))
        assert job is not None
        assert job.status is Status.PENDING


def test_an_answer_is_kept_for_longer_than_its_request_may_be_sent_again(server: RedisServer) -> None:
    store = RedisStore(server.address("patient", timeout="600"))
    store.open_sync()
    store.perform_sync(ops.Start((new_job(id="a"), new_job(id="b"))))

    store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(ops.Cancel(("a",)))
    store.perform_sync(ops.Delete(("b",)))

    with server.connect() as client:
        kept = {key: client.ttl(key) for key in client.keys("{patient}:*") if client.ttl(key) > 0}
    assert {key.split(b":")[1] for key in kept} == {b"answer", b"claimed", b"gone"}
    assert min(kept.values()) > 600
    store.close_sync()


def test_what_is_kept_of_an_answer_holds_no_payloads(server: RedisServer) -> None:
    namespace, clock = new_namespace(), ManualClock()
    store = RedisStore(server.address(namespace), clock=clock)
    store.open_sync()
    store.perform_sync(ops.Start((new_job(id="large", input=b'"' + b"x" * 100_000 + b'"'),)))
    store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    clock.advance(31)

    (reaped,) = store.perform_sync(ops.Reap(("resize",), (), 10))

    assert len(reaped.record.input) > 100_000
    with server.connect() as client:
        (kept,) = client.keys(f"{{{namespace}}}:answer:*")
        assert client.strlen(kept) < 1000
    store.close_sync()
