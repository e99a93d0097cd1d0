"""Starting chains: what is kept, in which order, all or none."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.errors import ChainNotFound
from holdfast.ids import new_id
from holdfast.operations import Start, Started
from holdfast.record import ChainRecord, Status
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_started_job_is_the_first_and_last_of_its_chain_and_due_at_once(ground: Ground) -> None:
    job = new_job("resize")

    ((chain, deduplicated),) = await ground.start(job)

    assert not deduplicated
    assert chain.first == chain.last
    assert (chain.first.id, chain.first.chain_id, chain.first.index) == (job.id, job.id, 0)
    assert (chain.first.status, chain.first.attempt) == (Status.PENDING, 0)
    assert chain.first.created_at == chain.first.scheduled_at == ground.clock()


async def whatever_nobody_said_about_a_new_job_is_empty(ground: Ground) -> None:
    job = await ground.started(new_job())

    assert (job.priority, job.blockers, job.open_blockers, job.on_blocker_failure) == (0, 0, 0, "wait")
    unset = (job.max_attempts, job.output, job.error, job.key, job.timeout, job.keep, job.trace)
    assert unset == (None,) * 7
    unheld = (job.worker, job.token, job.leased_until, job.renewed_at, job.started_at, job.finished_at)
    assert unheld == (None,) * 6
    assert (job.progress, job.progress_note) == (None, None)


async def every_field_of_a_new_job_is_kept(ground: Ground) -> None:
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
        trace="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )

    kept = await ground.started(job)

    assert (kept.type, kept.input, kept.priority, kept.max_attempts) == ("send-email", job.input, -7, 3)
    assert (kept.timeout, kept.keep) == (1_500_000, 3600 * SECOND)
    assert (kept.key, kept.on_blocker_failure, kept.trace) == ("mail-1", "fail", job.trace)
    assert kept.scheduled_at == ground.clock() + 90 * SECOND
    assert await ground.job(job.id) == kept


async def payloads_come_back_as_the_bytes_they_were(ground: Ground) -> None:
    payloads = [
        b"",
        b"{}",
        bytes(range(256)),
        '"\u00e9\u4e2d\U0001f600"'.encode(),
        b"9007199254740993",
        b"x" * 1_000_000,
    ]
    jobs = [new_job(input=payload) for payload in payloads]

    await ground.start(*jobs)

    assert [(await ground.job(job.id)).input for job in jobs] == payloads


async def names_and_keys_hold_any_text(ground: Ground) -> None:
    odd = 'it\'s "50%" of :a_{b}%s \\ $1 ?\t\u00e9\u4e2d\U0001f600'

    job = await ground.started(new_job(odd, key=odd, trace=odd))

    assert (job.type, job.key, job.trace) == (odd, odd, odd)
    (claimed,) = await ground.claim(odd, worker=odd)
    assert (claimed.id, claimed.worker) == (job.id, odd)


async def the_largest_numbers_are_kept_exactly(ground: Ground) -> None:
    far = ground.clock() + 1_000 * 366 * 24 * 3600 * SECOND

    job = await ground.started(new_job(priority=-(2**31), at=far, max_attempts=2**31 - 1))

    assert (job.priority, job.scheduled_at, job.max_attempts) == (-(2**31), far, 2**31 - 1)


async def chains_are_created_and_answered_in_the_order_given(ground: Ground) -> None:
    jobs = [new_job() for _ in range(50)]
    shuffled = jobs[25:] + jobs[:25]

    answers = await ground.start(*shuffled)

    assert [chain.first.id for chain, _ in answers] == [job.id for job in shuffled]
    assert [job.id for job in await ground.everything()] == [job.id for job in reversed(shuffled)]


async def a_start_of_nothing_does_nothing(ground: Ground) -> None:
    assert await ground.start() == []
    assert await ground.everything() == []


async def a_thousand_chains_start_in_one_step(ground: Ground) -> None:
    jobs = [new_job() for _ in range(1000)]

    answers = await ground.start(*jobs)

    assert [chain.first.id for chain, _ in answers] == [job.id for job in jobs]
    assert len(await ground.everything()) == 1000


async def a_delayed_job_is_due_that_much_later(ground: Ground) -> None:
    job = await ground.started(new_job(delay=60))

    assert job.scheduled_at == ground.clock() + 60 * SECOND


async def a_job_with_a_time_is_due_then(ground: Ground) -> None:
    moment = ground.clock() + 12_345_678

    job = await ground.started(new_job(at=moment, delay=5))

    assert job.scheduled_at == moment


async def a_past_time_is_clamped_to_now(ground: Ground) -> None:
    now = ground.clock()

    earlier = await ground.started(new_job(at=now - SECOND))
    before_delay = await ground.started(new_job(delay=-5))

    assert (earlier.scheduled_at, before_delay.scheduled_at) == (now, now)


async def sending_the_same_start_again_is_answered_with_the_same_chain(ground: Ground) -> None:
    job = new_job()
    ((chain, _),) = await ground.start(job)
    ground.clock.advance(5)

    again = await ground.start(job)

    assert again == [Started(chain, deduplicated=True)]
    assert len(await ground.everything()) == 1


async def a_start_sent_again_after_the_chain_moved_on_shows_where_it_stands(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))

    ((chain, deduplicated),) = await ground.start(new_job(id=job.id))

    assert deduplicated
    assert (chain.first.id, chain.last.id, chain.last.status) == (job.id, second.id, Status.PENDING)


async def the_id_of_a_later_job_is_answered_with_its_chain(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))

    ((chain, deduplicated),) = await ground.start(new_job(id=second.id))

    assert (deduplicated, chain.first.id) == (True, job.id)


async def a_batch_of_which_a_part_exists_creates_the_rest(ground: Ground) -> None:
    jobs = [new_job() for _ in range(4)]
    await ground.start(jobs[1], jobs[2])

    answers = await ground.start(*jobs)

    assert [deduplicated for _, deduplicated in answers] == [False, True, True, False]
    assert [chain.first.id for chain, _ in answers] == [job.id for job in jobs]
    assert len(await ground.everything()) == 4


async def one_id_twice_in_a_batch_makes_one_chain(ground: Ground) -> None:
    job = new_job()

    (chain, first), (same, second) = await ground.start(job, job)

    assert (first, second) == (False, True)
    assert chain == same
    assert len(await ground.everything()) == 1


async def one_id_started_by_many_at_once_makes_one_chain(ground: Ground) -> None:
    other = await ground.second_store()

    for _ in range(5):
        job = new_job()
        answers = await ground.race([g.start(job) for g in [ground, other] * 8])
        created = [answer for answer in answers if isinstance(answer, list) and not answer[0].deduplicated]
        assert len(created) == 1
        assert len(answers) - len(created) == 15
        assert all(isinstance(answer, list) and answer[0].chain.first.id == job.id for answer in answers)


async def an_unknown_blocker_starts_nothing_at_all(ground: Ground) -> None:
    unknown = new_id()

    error = await ground.refused(ChainNotFound, Start((new_job(), new_job(after=(unknown,)), new_job())))

    assert error.chain_id == unknown
    assert await ground.everything() == []


async def a_job_may_wait_for_a_chain_started_earlier_in_the_same_batch(ground: Ground) -> None:
    first = new_job()
    second = new_job(after=(first.id,))

    answers = await ground.start(first, second)

    assert [chain.last.status for chain, _ in answers] == [Status.PENDING, Status.BLOCKED]


async def a_job_cannot_wait_for_a_chain_started_later_in_the_same_batch(ground: Ground) -> None:
    later = new_job()

    error = await ground.refused(ChainNotFound, Start((new_job(after=(later.id,)), later)))

    assert error.chain_id == later.id
    assert await ground.everything() == []


async def a_job_cannot_wait_for_its_own_chain(ground: Ground) -> None:
    id = new_id()

    await ground.refused(ChainNotFound, Start((new_job(id=id, after=(id,)),)))

    assert await ground.everything() == []


async def what_one_handle_started_another_reads(ground: Ground) -> None:
    other = await ground.second_store()
    job = await ground.started()

    assert await other.chain(job.id) == ChainRecord(job, job)
    claimed = await other.claim_one()
    await other.settled(completed(claimed))
    assert (await ground.job(job.id)).status is Status.COMPLETED
