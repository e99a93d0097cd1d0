"""A connection that breaks between a request and its reply: the request is sent again and performed once."""

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


def test_every_script_that_writes_has_a_case_here() -> None:
    sources = files("holdfast.stores.redis.scripts")
    writing = {
        each for each in (*VERBS, *HELPER_SCRIPTS) if "-- flags: no-writes" not in (sources / f"{each}.lua").read_text()
    }

    # Not `layout`: a repetition gets the same result.
    assert writing - {"layout"} == {script for script, _ in WRITING.values()}


@pytest.mark.parametrize("case", WRITING)
def test_a_resent_request_has_the_same_result_and_effect(case: str, server: RedisServer) -> None:
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
    """Without the unblocked jobs: only the lost reply contained them. Wake-ups announce them too."""
    return [each.written for each in answer] if case in ("release", "settle with many dependents") else answer


def hide(answer: object) -> str:
    """A result as text, without the tokens, which differ in each run."""
    return re.sub(r"token='[^']*'", "", repr(answer))


def test_a_resent_cancel_does_not_cancel_a_job_that_was_retried_since(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(id="job"),)))

        cut_off(
            proxy,
            far,
            ops.CancelChains(("job",)),
            at="cancel",
            meanwhile=lambda: near.perform_sync(ops.RetryJobs(("job",))),
        )

        (job,) = near.perform_sync(ops.GetJobs(("job",)))
        assert job is not None
        assert job.status is Status.PENDING


@pytest.mark.parametrize("steps", [1, 2])
def test_a_resent_settlement_succeeds_after_its_job_was_pruned(server: RedisServer, steps: int) -> None:
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


async def test_async_code_resends_too(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, clock):
        store = RedisStore(server.tcp_address(far.name.rpartition("=")[2], port=proxy.port), clock=clock)
        await store.open()
        await store.perform(ops.Start((new_job(id="job"),)))
        proxy.cut_at(sha_of(store, "cancel"), lambda: near.perform_sync(ops.RetryJobs(("job",))))

        (chain,) = await store.perform(ops.CancelChains(("job",)))

        assert len(proxy.swallowed) == 1
        assert chain.last.status is Status.PENDING
        await store.close()


def test_a_settlement_in_a_new_request_succeeds_after_its_job_was_pruned(store: RedisStore) -> None:
    store.perform_sync(ops.Start((new_job(id="one", keep=0),)))
    (job,) = store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(ops.Settle((completed(job),)))
    assert store.perform_sync(ops.Prune(10)) == ["one"]

    (again,) = store.perform_sync(ops.Settle((completed(job),)))
    (other,) = store.perform_sync(ops.Settle((failed(job),)))

    assert again.written
    assert other.lost == "not_found"


def test_a_resent_settlement_succeeds_after_its_chain_was_deleted_and_created_again(
    server: RedisServer,
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))

        def create_again() -> None:
            near.perform_sync(ops.Delete(("one",)))
            near.perform_sync(ops.Start((new_job(id="one"),)))

        (settled,) = cut_off(proxy, far, ops.Settle((completed(job),)), at="settle", meanwhile=create_again)

        assert settled.written
        (created_again,) = near.perform_sync(ops.GetJobs(("one",)))
        assert created_again is not None
        assert created_again.status is Status.PENDING


def test_a_resent_settlement_succeeds_after_another_worker_claimed_the_job(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        taken: list[Record] = []

        def claim_it() -> None:
            (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "another", "other"))
            taken.append(job)

        (settled,) = cut_off(proxy, far, ops.Settle((rescheduled(job),)), at="settle", meanwhile=claim_it)

        assert settled.written
        (own,) = near.perform_sync(ops.Settle((completed(taken[0]),)))
        assert own.written


def test_a_settlement_in_a_new_request_succeeds_after_another_worker_claimed_the_job(
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


def test_an_attempt_that_an_operator_cancelled_does_not_count_as_settled_by_its_worker(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))
        (job,) = near.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
        near.perform_sync(ops.CancelChains(("one",)))

        proxy.cut_before(sha_of(far, "settle"))
        (settled,) = far.perform_sync(ops.Settle((Settlement(job.claim, Status.CANCELLED, "cancelled"),)))

        assert settled.lost == "cancelled"


@pytest.mark.parametrize("verb", [ops.RunNow, ops.RetryJobs])
def test_a_resent_operation_on_a_job_that_was_deleted_since_raises_job_not_found(
    server: RedisServer, verb: type[ops.RunNow] | type[ops.RetryJobs]
) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="job", delay=60),)))
        if verb is ops.RetryJobs:
            near.perform_sync(ops.CancelChains(("job",)))

        with pytest.raises(JobNotFound):
            cut_off(
                proxy, far, verb(("job",)), at=verb(()).verb, meanwhile=lambda: near.perform_sync(ops.Delete(("job",)))
            )

        assert len(proxy.swallowed) == 1


@pytest.mark.parametrize("paused", [True, False])
def test_a_resent_pause_or_resume_does_not_undo_a_later_one(server: RedisServer, paused: bool) -> None:
    first, last = (ops.Pause(("resize",)), ops.Resume(("resize",)))[:: 1 if paused else -1]
    with by_proxy(server) as (proxy, far, near, _):
        far.perform_sync(ops.Start((new_job(),)))

        cut_off(proxy, far, first, at=first.verb, meanwhile=lambda: near.perform_sync(last))

        (stats,) = near.perform_sync(ops.GetStats())
        assert stats.paused is not paused


def test_a_request_that_arrives_after_its_own_resend_is_not_performed_twice(server: RedisServer) -> None:
    with by_proxy(server) as (proxy, far, near, _):
        near.perform_sync(ops.Start((new_job(id="one"),)))

        proxy.cut_before(sha_of(far, "cancel"))
        far.perform_sync(ops.CancelChains(("one",)))
        near.perform_sync(ops.RetryJobs(("one",)))
        proxy.let_arrive()

        (job,) = near.perform_sync(ops.GetJobs(("one",)))
        assert job is not None
        assert job.status is Status.PENDING


def test_a_reply_is_saved_longer_than_its_request_may_be_resent(server: RedisServer) -> None:
    store = RedisStore(server.address("patient", timeout="600"))
    store.open_sync()
    store.perform_sync(ops.Start((new_job(id="a"), new_job(id="b"))))

    store.perform_sync(ops.ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(ops.CancelChains(("a",)))
    store.perform_sync(ops.Delete(("b",)))

    with server.connect() as client:
        kept = {key: client.ttl(key) for key in client.keys("{patient}:*") if client.ttl(key) > 0}
    assert {key.split(b":")[1] for key in kept} == {b"answer", b"claimed", b"gone"}
    assert min(kept.values()) > 600
    store.close_sync()


def test_a_saved_reply_contains_no_payloads(server: RedisServer) -> None:
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
