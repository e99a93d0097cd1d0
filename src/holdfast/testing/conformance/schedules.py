"""Schedules: rows that change together with the chains that they start."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.clock import SECOND, Micros
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    SCHEDULES_CHANGED,
    ChangeSchedule,
    DueSchedules,
    FoundSchedules,
    GetSchedules,
    Started,
)
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound
from holdfast.testing.builders import new_job
from holdfast.testing.conformance.harness import Harness

ROUNDS = 10
RACERS = 8


@dataclass
class WrittenSchedule:
    """A schedule that a case has written."""

    harness: Harness
    name: str
    version: str
    type: str = "resize"

    async def change(
        self,
        *starts: NewJob,
        body: bytes | None = b"changed",
        at: Micros | None = None,
        expected: str | None = None,
        version: str | None = None,
        harness: Harness | None = None,
        wait: bool = False,
    ) -> list[Started] | None:
        new = new_token() if version is None else version
        op = ChangeSchedule(
            self.name, self.version if expected is None else expected, new, self.type, body, at, starts, wait=wait
        )
        answer = await (harness or self.harness).perform(op)
        if answer is not None:
            self.version = new
        return answer


async def _created(
    harness: Harness, name: str = "nightly", *, body: bytes = b"body", at: Micros | None = None, type: str = "resize"
) -> WrittenSchedule:
    row = WrittenSchedule(harness, name, new_token(), type)
    assert await harness.perform(ChangeSchedule(name, None, row.version, type, body, at)) == []
    return row


async def _found(harness: Harness, *names: str) -> dict[str, bytes]:
    found = await harness.perform(GetSchedules(names or None))
    return {schedule.name: schedule.body for schedule in found.schedules}


async def _due(harness: Harness, *types: str, limit: int = 10) -> FoundSchedules:
    return await harness.perform(DueSchedules(types or ("resize",), limit))


async def schedules_are_read_by_name_or_all(harness: Harness) -> None:
    await _created(harness, "weekly", body=b"\x00 \xff bytes", type="resize")
    await _created(harness, "nightly", body=b"second", type="other")

    found = await harness.perform(GetSchedules())

    assert [(each.name, each.body) for each in found.schedules] == [
        ("nightly", b"second"),
        ("weekly", b"\x00 \xff bytes"),
    ]
    assert found.now == harness.clock()
    assert await _found(harness, "weekly", "unknown") == {"weekly": b"\x00 \xff bytes"}
    assert await _found(harness, "unknown") == {}


async def a_name_is_created_once(harness: Harness) -> None:
    await _created(harness)

    assert await harness.perform(ChangeSchedule("nightly", None, new_token(), "resize", b"other")) is None
    assert await _found(harness) == {"nightly": b"body"}


async def a_change_with_another_version_writes_nothing(harness: Harness) -> None:
    row = await _created(harness)
    await row.change(body=b"first")
    before = await harness.everything()

    assert await row.change(new_job(), body=b"second", expected="stale") is None
    assert await harness.perform(ChangeSchedule("unknown", "stale", new_token(), "resize", b"x")) is None

    assert await _found(harness) == {"nightly": b"first"}
    assert await harness.everything() == before


async def a_change_and_its_chains_are_written_together(harness: Harness) -> None:
    row = await _created(harness)
    first, second = new_job(), new_job(delay=1)

    started = await row.change(first, second, body=b"ticked")

    assert started is not None
    assert [(each.chain.first.id, each.deduplicated) for each in started] == [(first.id, False), (second.id, False)]
    assert await _found(harness) == {"nightly": b"ticked"}
    assert (await harness.job(second.id)).scheduled_at == harness.clock() + SECOND
    assert (await harness.claim_one()).id == first.id


async def a_refused_start_leaves_the_schedule_unchanged(harness: Harness) -> None:
    row = await _created(harness)
    job = new_job(after=("unknown",))

    await harness.refused(ChainNotFound, ChangeSchedule("nightly", row.version, "v2", "resize", b"x", None, (job,)))

    assert await _found(harness) == {"nightly": b"body"}
    assert await harness.everything() == []


async def a_chain_may_wait_for_an_earlier_one_of_its_schedule(harness: Harness) -> None:
    row = await _created(harness)
    first = new_job()
    await row.change(first)

    started = await row.change(new_job(after=(first.id,)))

    assert started is not None
    assert started[0].chain.first.status is Status.BLOCKED


async def an_existing_id_is_found(harness: Harness) -> None:
    row = await _created(harness)
    job = await harness.started()
    new = new_job()

    started = await row.change(new_job(id=job.id), new)

    assert started is not None
    assert [(each.chain.first.id, each.deduplicated) for each in started] == [(job.id, True), (new.id, False)]


async def a_repeated_change_returns_its_chains_and_writes_nothing(harness: Harness) -> None:
    row = await _created(harness)
    job, before, version = new_job(), row.version, new_token()
    await row.change(job, body=b"once", version=version)

    again = await row.change(job, body=b"once", expected=before, version=version)

    assert again is not None
    assert [each.chain.first.id for each in again] == [job.id]
    assert len(await harness.everything()) == 1


async def a_deleted_schedule_is_gone_and_can_be_created_again(harness: Harness) -> None:
    row = await _created(harness, at=harness.clock())

    assert await row.change(body=None) == []

    assert await _found(harness) == {}
    assert (await _due(harness)).schedules == []
    await _created(harness, body=b"again")
    assert await _found(harness) == {"nightly": b"again"}


async def due_schedules_are_those_whose_tick_has_come(harness: Harness) -> None:
    now = harness.clock()
    await _created(harness, "later", at=now + 5 * SECOND)
    await _created(harness, "second", at=now)
    await _created(harness, "first", at=now - SECOND)
    await _created(harness, "never", at=None)
    await _created(harness, "other", at=now - SECOND, type="other")

    found = await _due(harness)

    assert [each.name for each in found.schedules] == ["first", "second"]
    assert (found.now, found.wait) == (now, 5 * SECOND)
    assert [each.name for each in (await _due(harness, "resize", "other", limit=2)).schedules] == ["first", "other"]


async def without_a_later_tick_there_is_nothing_to_wait_for(harness: Harness) -> None:
    assert await _due(harness) == FoundSchedules(harness.clock(), [], None)
    await _created(harness, at=harness.clock() + SECOND)
    harness.clock.advance(1)

    found = await _due(harness)

    assert ([each.name for each in found.schedules], found.wait) == (["nightly"], None)


async def a_change_moves_the_next_tick_and_the_type(harness: Harness) -> None:
    row = await _created(harness, at=harness.clock())
    await row.change(at=harness.clock() + SECOND)
    assert (await _due(harness)).schedules == []

    row.type = "other"
    await row.change(at=harness.clock())

    assert await _due(harness) == FoundSchedules(harness.clock(), [], None)
    assert [each.name for each in (await _due(harness, "other")).schedules] == ["nightly"]


async def one_of_many_concurrent_ticks_starts_the_chain(harness: Harness) -> None:
    others = [await harness.second_store() for _ in range(3)]
    row = await _created(harness)
    lost = 0
    for number in range(ROUNDS):
        version = row.version
        jobs = [new_job(f"tick-{number}") for _ in range(RACERS)]

        answers = await harness.race(
            [
                _tick(([harness, *others])[at % 4], version, f"{number}-{at}", job, wait=at % 2 == 0)
                for at, job in enumerate(jobs)
            ]
        )

        won = [at for at, answer in enumerate(answers) if isinstance(answer, list)]
        assert len(won) == 1
        lost += RACERS - len(won)
        assert [job.id for job in await harness.claim(f"tick-{number}", limit=RACERS)] == [jobs[won[0]].id]
        row.version = f"{number}-{won[0]}"
    assert lost == ROUNDS * (RACERS - 1)


async def _tick(harness: Harness, expected: str, version: str, job: NewJob, *, wait: bool) -> list[Started] | None:
    op = ChangeSchedule("nightly", expected, version, "resize", version.encode(), 0, (job,), announce=False, wait=wait)
    return await harness.perform(op)


async def one_of_many_concurrent_creations_succeeds(harness: Harness) -> None:
    other = await harness.second_store()
    for number in range(ROUNDS):
        creations = [
            ChangeSchedule(f"schedule-{number}", None, f"v{at}", "resize", f"body-{at}".encode()) for at in range(4)
        ]

        answers = await harness.race([(harness, other)[at % 2].perform(op) for at, op in enumerate(creations)])

        (won,) = [at for at, answer in enumerate(answers) if answer is not None]
        assert await _found(harness, f"schedule-{number}") == {f"schedule-{number}": f"body-{won}".encode()}


async def an_announced_change_sends_a_hint(harness: Harness) -> None:
    flag, received = WakeFlag(), list[Hints]()

    def receive(hints: Hints) -> None:
        received.append(hints)
        if hints.anything or SCHEDULES_CHANGED in hints.due:
            flag.set()

    unsubscribe = harness.store.wakeups.subscribe(receive)
    try:
        other = await harness.second_store()
        await _created(other, at=harness.clock())
        assert await harness.wait(flag), received
    finally:
        unsubscribe()
