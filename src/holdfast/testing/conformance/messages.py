"""Messages: the first value of a name is kept, and it wakes the job that waits for it."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.failure import write
from holdfast.core.record import Record, Status
from holdfast.core.steps import NEVER, Checkpoint
from holdfast.engine.operations import (
    CancelChains,
    Explain,
    GetMessages,
    GetSteps,
    NextDue,
    RetryJobs,
    RunNow,
    SaveSteps,
    SendMessage,
    Settled,
)
from holdfast.errors import AlreadyCompleted, ChainNotFound
from holdfast.testing.builders import (
    checkpoint,
    completed,
    continued,
    failed,
    next_job,
    receive_of,
    released,
    sleep_for,
    suspended,
)
from holdfast.testing.conformance.harness import Harness

ROUNDS = 20


async def _send(harness: Harness, job: Record, value: bytes = b"1", *, name: str = "label") -> bool:
    return await harness.perform(SendMessage(job.chain_id, name, value))


async def _value(harness: Harness, job: Record) -> bytes | None:
    (value,) = await harness.perform(GetMessages(((job.chain_id, "label"),)))
    return value


async def the_first_value_of_a_name_is_kept(harness: Harness) -> None:
    job = await harness.started()
    assert await _value(harness, job) is None

    assert await _send(harness, job, b'{"n": 9007199254740993}')
    assert not await _send(harness, job, b"2")
    assert await _send(harness, job, b"3", name="other")

    assert await _value(harness, job) == b'{"n": 9007199254740993}'
    names = ((job.id, "other"), (job.id, "unknown"), (job.id, "label"))
    assert await harness.perform(GetMessages(names)) == [b"3", None, b'{"n": 9007199254740993}']


async def a_message_for_an_unknown_or_a_finished_chain_is_refused(harness: Harness) -> None:
    assert (await harness.refused(ChainNotFound, SendMessage("unknown", "label", b"1"))).chain_id == "unknown"
    done = await harness.completed()
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))

    for job in (done, dropped):
        assert (await harness.refused(AlreadyCompleted, SendMessage(job.id, "label", b"1"))).chain_id == job.id
        assert await _value(harness, job) is None


async def a_message_belongs_to_the_chain(harness: Harness) -> None:
    first = await harness.claimed()
    await _send(harness, first)
    await harness.settled(continued(first, next_job(first)))
    last = await harness.claim_one("publish")
    harness.clock.advance(1)

    await harness.settled(suspended(last, receive_of("label")))

    assert (await harness.claim_one("publish")).id == last.id
    assert not await _send(harness, last, b"2")


async def a_job_that_waits_for_a_message_is_due_when_it_arrives(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label")))
    harness.clock.advance(100_000)
    assert (await harness.job(job.id)).scheduled_at == NEVER
    assert await harness.claim() == []

    assert await _send(harness, job, name="other")
    assert await harness.claim() == []
    assert await _send(harness, job)

    assert (await harness.job(job.id)).scheduled_at == harness.clock()
    assert await harness.perform(NextDue(("resize",))) == 0
    assert (await harness.claim_one()).attempt == 1


async def a_message_that_was_sent_before_makes_a_suspended_job_due_at_once(harness: Harness) -> None:
    job = await harness.claimed()
    await _send(harness, job)
    harness.clock.advance(3)

    await harness.settled(suspended(job, sleep_for("nap", 60, number=1), receive_of("label", 600, number=2)))

    assert (await harness.job(job.id)).scheduled_at == harness.clock()


async def one_of_several_awaited_messages_wakes_the_job(harness: Harness) -> None:
    job = await harness.claimed()
    waits = receive_of("label", number=1), receive_of("other", 600, number=2)
    await harness.settled(suspended(job, *waits))
    assert (await harness.job(job.id)).scheduled_at == harness.clock() + 600 * SECOND

    await _send(harness, job)

    again = await harness.claim_one()
    await harness.settled(suspended(again, waits[1]))
    assert await harness.claim() == []
    await _send(harness, job, name="other")
    assert (await harness.claim_one()).id == job.id


async def a_message_does_not_make_a_job_due_that_no_longer_waits_for_it(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label", 10)))
    harness.clock.advance(10)
    again = await harness.claim_one()
    await harness.settled(suspended(again, sleep_for("nap", 60, number=2)))

    assert await _send(harness, job)

    assert (await harness.job(job.id)).scheduled_at == harness.clock() + 60 * SECOND
    assert await _value(harness, job) == b"1"


async def a_released_job_that_waited_is_due_and_waits_again(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label", 10)))
    harness.clock.advance(10)
    again = await harness.claim_one()
    await harness.settled(released(again))
    again = await harness.claim_one()

    await harness.settled(suspended(again, receive_of("label")))

    assert await harness.claim() == []
    await _send(harness, job)
    assert (await harness.claim_one()).attempt == 1


async def a_retried_job_does_not_wait_for_the_message_of_its_last_run(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label")))
    await harness.perform(CancelChains((job.id,)))

    await harness.perform(RetryJobs((job.id,)))

    facts = await harness.perform(Explain(job.id))
    assert facts is not None
    assert facts.messages == ()
    held = await harness.claim_one()
    assert await _send(harness, job)
    await harness.settled(failed(held))


async def the_facts_of_a_waiting_job_name_the_messages(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(
        suspended(job, receive_of("b", 60, number=1), receive_of("a", number=2), sleep_for("nap", 90, number=3))
    )

    facts = await harness.perform(Explain(job.id))
    assert facts is not None
    assert facts.messages == ("a", "b")

    await _send(harness, job, name="b")
    facts = await harness.perform(Explain(job.id))
    assert facts is not None
    assert facts.messages == ()


async def run_now_does_not_end_a_receive(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label", 600)))
    before = await harness.job(job.id)

    assert await harness.perform(RunNow((job.id,))) == [before]

    assert await harness.job(job.id) == before
    facts = await harness.perform(Explain(job.id))
    assert facts is not None
    assert facts.messages == ("label",)


async def one_of_concurrent_messages_of_a_name_is_the_first(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.claimed()
        await harness.settled(suspended(job, receive_of("label")))

        answers = await harness.race([_send(harness, job, b"1"), _send(other, job, b"2"), _send(other, job, b"3")])

        assert sorted(map(bool, answers)) == [False, False, True]
        assert await _value(harness, job) == str(answers.index(True) + 1).encode()
        held = await harness.claim_one()
        await harness.settled(completed(held))


async def a_message_that_meets_the_suspension_makes_the_job_due(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.claimed()

        answers = await harness.race([_suspend(harness, job), _send(other, job)])

        assert answers == [Settled(), True]
        held = await harness.claim_one()
        assert held.id == job.id
        await harness.settled(completed(held))


async def _suspend(harness: Harness, job: Record) -> Settled:
    (answer,) = await harness.settle(suspended(job, receive_of("label")))
    return answer


async def a_receive_does_not_time_out_if_the_message_was_sent_before(harness: Harness) -> None:
    job, stale = await harness.claimed(), await harness.claimed()
    await harness.settled(released(stale))
    for each in (job, stale):
        await _send(harness, each, b"7")

    answers = await harness.perform(SaveSteps((_timeout(job), checkpoint(job, "other", number=2), _timeout(stale))))

    assert answers == [None, None, "taken_by_another_worker"]
    rows, others = await harness.perform(GetSteps((job.id, stale.id)))
    assert ([row.name for row in rows], others) == (["other"], [])
    await harness.perform(SaveSteps((checkpoint(job, "label", kind="receive", result=b"7"),)))
    ((received, _),) = await harness.perform(GetSteps((job.id,)))
    assert (received.name, received.result) == ("label", b"7")


async def a_message_that_is_sent_after_the_timeout_is_kept_for_later_jobs(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(SaveSteps((_timeout(job),)))

    assert await _send(harness, job, b"7")

    ((row,),) = await harness.perform(GetSteps((job.id,)))
    assert row.final
    assert row.error is not None
    assert await _value(harness, job) == b"7"
    assert await harness.perform(SaveSteps((_timeout(job),))) == [None]
    assert await harness.perform(GetSteps((job.id,))) == [[row]]


def _timeout(job: Record) -> Checkpoint:
    return checkpoint(job, "label", kind="receive", result=None, error=write("MessageTimeout", "late"))


async def a_received_message_is_kept_for_later_jobs_of_the_chain(harness: Harness) -> None:
    job = await harness.claimed()
    await _send(harness, job, b"7")
    await harness.perform(SaveSteps((checkpoint(job, "label", kind="receive", result=b"7"),)))

    await harness.settled(continued(job, next_job(job)))

    assert (await harness.chain(job.id)).last.status is Status.PENDING
    assert await _value(harness, job) == b"7"
