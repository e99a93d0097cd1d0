"""Start: which fields are kept, in which order chains are created, and that all or none are created."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.details import NO_DETAILS
from holdfast.core.ids import new_id
from holdfast.core.lifecycle import OPTIONS, NewJob
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Start, Started
from holdfast.errors import ChainNotFound
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.builders import sent_details
from holdfast.testing.conformance.harness import Harness

_COPIED = [name for name in NewJob.__struct_fields__ if name in Record.__struct_fields__ and name != "details"]
"""The fields of a record that come from the new job."""


async def an_id_that_is_repeated_in_a_batch_counts_where_it_is_first(harness: Harness) -> None:
    one, two = new_job(input=b"1"), new_job(input=b"2")

    started = await harness.perform(Start((one, replace(one, input=b"3"), two, one)))

    assert [each.deduplicated for each in started] == [False, True, False, True]
    assert [job.input for job in await harness.claim(limit=9)] == [b"1", b"2"]


async def a_started_job_is_the_only_one_of_its_chain_and_is_due_now(harness: Harness) -> None:
    job = new_job("resize")

    ((chain, deduplicated),) = await harness.start(job)

    assert not deduplicated
    assert chain.first == chain.last
    assert (chain.first.id, chain.first.chain_id, chain.first.index) == (job.id, job.id, 0)
    assert (chain.first.status, chain.first.attempt) == (Status.PENDING, 0)
    assert chain.first.created_at == chain.first.scheduled_at == harness.clock()


async def fields_that_are_not_given_are_empty(harness: Harness) -> None:
    job = await harness.started(new_job())

    assert (job.priority, job.blockers, job.open_blockers, job.on_blocker_failure) == (0, 0, 0, "wait")
    unset = (job.max_attempts, job.output, job.error, job.key, job.timeout, job.keep)
    assert unset == (None,) * 6
    assert sent_details(job) == NO_DETAILS
    unheld = (job.worker, job.token, job.leased_until, job.renewed_at, job.started_at, job.finished_at)
    assert unheld == (None,) * 6
    assert (job.progress, job.progress_note) == (None, None)


async def every_field_of_a_new_job_is_kept(harness: Harness) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    job = new_job(
        "send-email",
        input=b'{"to": "a@b"}',
        priority=-7,
        delay=90,
        max_attempts=3,
        timeout=1.5,
        keep=3600,
        key="mail-1",
        on_blocker_failure="fail",
        trace=trace,
        dedup_for=7200,
    )

    kept = await harness.started(job)

    assert {name: getattr(kept, name) for name in _COPIED} == {name: getattr(job, name) for name in _COPIED}
    assert (kept.type, kept.input, kept.priority, kept.max_attempts) == ("send-email", job.input, -7, 3)
    assert sent_details(kept) == sent_details(job)
    assert (kept.timeout, kept.keep) == (1_500_000, 3600 * SECOND)
    assert (kept.key, kept.on_blocker_failure, kept.trace) == ("mail-1", "fail", trace)
    assert kept.scheduled_at == harness.clock() + 90 * SECOND
    assert await harness.job(job.id) == kept


async def every_option_is_kept_by_a_start_a_replacement_and_a_continuation(harness: Harness) -> None:
    options = {option: 1000 + number for number, option in enumerate(OPTIONS)}
    waiting = await harness.started(new_job("other", key="k"))
    job = await harness.claimed(replace(new_job(), **options))
    one, two = [replace(new_job("many"), **options) for _ in range(2)]
    following = replace(next_job(job), **options)

    await harness.start(one, two)
    await harness.start(replace(new_job("other", key="k", dedup="waiting"), **options))
    await harness.settled(continued(job, following))

    for id in (job.id, one.id, two.id, waiting.id, following.id):
        kept = await harness.job(id)
        assert {option: getattr(kept, option) for option in OPTIONS} == options


async def payloads_are_kept_byte_by_byte(harness: Harness) -> None:
    payloads = [
        b"",
        b"{}",
        bytes(range(256)),
        '"\u00e9\u4e2d\U0001f600"'.encode(),
        b"9007199254740993",
        b"x" * 1_000_000,
    ]
    jobs = [new_job(input=payload) for payload in payloads]

    await harness.start(*jobs)

    assert [(await harness.job(job.id)).input for job in jobs] == payloads


async def names_and_keys_may_contain_any_text(harness: Harness) -> None:
    odd = 'it\'s "50%" of :a_{b}%s \\ $1 ?\t\u00e9\u4e2d\U0001f600'

    job = await harness.started(new_job(odd, key=odd, trace=odd))

    assert (job.type, job.key, job.trace) == (odd, odd, odd)
    (claimed,) = await harness.claim(odd, worker=odd)
    assert (claimed.id, claimed.worker) == (job.id, odd)


async def the_largest_numbers_are_kept_exactly(harness: Harness) -> None:
    far = harness.clock() + 1_000 * 366 * 24 * 3600 * SECOND

    job = await harness.started(new_job(priority=-(2**31), at=far, max_attempts=2**31 - 1))

    assert (job.priority, job.scheduled_at, job.max_attempts) == (-(2**31), far, 2**31 - 1)


async def chains_are_created_and_returned_in_the_given_order(harness: Harness) -> None:
    jobs = [new_job() for _ in range(50)]
    shuffled = jobs[25:] + jobs[:25]

    answers = await harness.start(*shuffled)

    assert [chain.first.id for chain, _ in answers] == [job.id for job in shuffled]
    assert [job.id for job in await harness.everything()] == [job.id for job in reversed(shuffled)]


async def an_empty_start_does_nothing(harness: Harness) -> None:
    assert await harness.start() == []
    assert await harness.everything() == []


async def a_thousand_chains_are_created_by_one_operation(harness: Harness) -> None:
    jobs = [new_job() for _ in range(1000)]

    answers = await harness.start(*jobs)

    assert [chain.first.id for chain, _ in answers] == [job.id for job in jobs]
    assert len(await harness.everything()) == 1000


async def a_job_with_a_delay_is_due_after_the_delay(harness: Harness) -> None:
    job = await harness.started(new_job(delay=60))

    assert job.scheduled_at == harness.clock() + 60 * SECOND


async def a_job_with_a_time_is_due_at_that_time(harness: Harness) -> None:
    moment = harness.clock() + 12_345_678

    job = await harness.started(new_job(at=moment, delay=5))

    assert job.scheduled_at == moment


async def a_time_in_the_past_becomes_the_current_time(harness: Harness) -> None:
    now = harness.clock()

    earlier = await harness.started(new_job(at=now - SECOND))
    before_delay = await harness.started(new_job(delay=-5))

    assert (earlier.scheduled_at, before_delay.scheduled_at) == (now, now)


async def a_start_that_is_sent_again_returns_the_same_chain(harness: Harness) -> None:
    job = new_job()
    ((chain, _),) = await harness.start(job)
    harness.clock.advance(5)

    again = await harness.start(job)

    assert again == [Started(chain, deduplicated=True)]
    assert len(await harness.everything()) == 1


async def a_start_that_is_sent_again_returns_the_current_state_of_the_chain(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))

    ((chain, deduplicated),) = await harness.start(new_job(id=job.id))

    assert deduplicated
    assert (chain.first.id, chain.last.id, chain.last.status) == (job.id, second.id, Status.PENDING)


async def a_start_with_the_id_of_a_later_job_returns_the_chain_of_that_job(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))

    ((chain, deduplicated),) = await harness.start(new_job(id=second.id))

    assert (deduplicated, chain.first.id) == (True, job.id)


async def a_batch_creates_only_the_chains_that_do_not_exist(harness: Harness) -> None:
    jobs = [new_job() for _ in range(4)]
    await harness.start(jobs[1], jobs[2])

    answers = await harness.start(*jobs)

    assert [deduplicated for _, deduplicated in answers] == [False, True, True, False]
    assert [chain.first.id for chain, _ in answers] == [job.id for job in jobs]
    assert len(await harness.everything()) == 4


async def the_same_id_twice_in_a_batch_creates_one_chain(harness: Harness) -> None:
    job = new_job()

    (chain, first), (same, second) = await harness.start(job, job)

    assert (first, second) == (False, True)
    assert chain == same
    assert len(await harness.everything()) == 1


async def concurrent_starts_with_the_same_id_create_one_chain(harness: Harness) -> None:
    other = await harness.second_store()

    for _ in range(5):
        job = new_job()
        answers = await harness.race([g.start(job) for g in [harness, other] * 8])
        created = [answer for answer in answers if isinstance(answer, list) and not answer[0].deduplicated]
        assert len(created) == 1
        assert len(answers) - len(created) == 15
        assert all(isinstance(answer, list) and answer[0].chain.first.id == job.id for answer in answers)


async def an_unknown_blocker_refuses_the_whole_batch(harness: Harness) -> None:
    unknown = new_id()

    error = await harness.refused(ChainNotFound, Start((new_job(), new_job(after=(unknown,)), new_job())))

    assert error.chain_id == unknown
    assert await harness.everything() == []


async def a_job_may_wait_for_a_chain_started_earlier_in_the_same_batch(harness: Harness) -> None:
    first = new_job()
    second = new_job(after=(first.id,))

    answers = await harness.start(first, second)

    assert [chain.last.status for chain, _ in answers] == [Status.PENDING, Status.BLOCKED]


async def a_job_cannot_wait_for_a_chain_started_later_in_the_same_batch(harness: Harness) -> None:
    later = new_job()

    error = await harness.refused(ChainNotFound, Start((new_job(after=(later.id,)), later)))

    assert error.chain_id == later.id
    assert await harness.everything() == []


async def a_job_cannot_wait_for_its_own_chain(harness: Harness) -> None:
    id = new_id()

    await harness.refused(ChainNotFound, Start((new_job(id=id, after=(id,)),)))

    assert await harness.everything() == []


async def another_store_object_reads_what_was_started(harness: Harness) -> None:
    other = await harness.second_store()
    job = await harness.started()

    assert await other.chain(job.id) == ChainRecord(job, job)
    claimed = await other.claim_one()
    await other.settled(completed(claimed))
    assert (await harness.job(job.id)).status is Status.COMPLETED
