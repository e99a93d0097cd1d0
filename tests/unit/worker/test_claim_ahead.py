"""How many jobs a worker claims ahead, of which types, and in which order they begin."""

from __future__ import annotations

import pytest

from holdfast import Jobs, Limit, Retry
from holdfast.core.claim_ahead import claimable
from holdfast.core.lifecycle import create
from holdfast.core.record import Record
from holdfast.testing.builders import new_job
from holdfast.worker import ahead, durations
from holdfast.worker.ahead import AheadQueue
from holdfast.worker.ahead_size import STORE_WINDOW, WINDOW, ahead_size
from holdfast.worker.durations import FAST, FORGOTTEN_AFTER, Durations, Estimate
from holdfast.worker.held_claims import HeldClaim
from holdfast.worker.run_options import RunOptions, WorkerDefaults

jobs = Jobs()


@jobs.job
async def quick() -> None: ...


@jobs.job(limits=[Limit("gpu", 2)])
async def limited() -> None: ...


@jobs.job(executor="process")
def in_child() -> None: ...


USUAL = WorkerDefaults(Retry(), 30, None, None)
OPTIONS = [USUAL.of(job_type) for job_type in jobs]


class Time:
    """The clocks of leases and of durations, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(durations, "monotonic", lambda: self.now)
        monkeypatch.setattr(ahead, "lease_clock", lambda: self.now)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


@pytest.mark.parametrize(
    ("types", "limit", "taken"),
    [
        ("", 2, 0),
        ("ff", 5, 2),
        ("ffff", 2, 4),
        ("ffsf", 1, 2),
        ("sfff", 2, 2),
        ("fsff", 2, 2),
        ("sss", 2, 2),
        ("f", 0, 1),
    ],
)
def test_a_claim_takes_jobs_ahead_until_the_first_of_another_type(types: str, limit: int, taken: int) -> None:
    assert claimable(types, {"f"}, limit) == taken


def test_some_short_attempts_make_a_type_fast_and_one_long_attempt_ends_that(time: Time) -> None:
    measured = Durations(OPTIONS)
    needed = 0
    while not measured.fast():
        measured.add("quick", time.now, time.now + FAST / 100)
        needed += 1

    assert 1 < needed < 50
    measured.add("quick", time.now, time.now + 2 * FAST)
    assert measured.fast() == {}


def test_types_with_limits_and_types_with_processes_are_never_fast(time: Time) -> None:
    measured = Durations(OPTIONS)

    for _ in range(100):
        for name in ("quick", "limited", "in_child"):
            measured.add(name, time.now, time.now)

    assert list(measured.fast()) == ["quick"]


def test_a_type_without_recent_attempts_is_unmeasured(time: Time) -> None:
    measured = Durations(OPTIONS)
    for _ in range(100):
        measured.add("quick", time.now, time.now)
    time.now += FORGOTTEN_AFTER + 1

    assert measured.fast() == {}
    measured.add("quick", time.now, time.now)
    assert measured.fast() == {}


def test_a_slow_store_does_not_make_a_handler_with_steps_slow(time: Time) -> None:
    measured = Durations(OPTIONS)
    for _ in range(100):
        measured.add("quick", time.now, time.now + 3 * FAST, 3 * FAST)

    (estimate,) = measured.fast().values()
    assert estimate.slot == pytest.approx(3 * FAST, rel=0.01)
    assert estimate.handler < FAST / 100
    measured.add("quick", time.now, time.now + 3 * FAST)  # this time the handler itself was slow
    assert measured.fast() == {}


def test_the_number_follows_the_measured_rate() -> None:
    def size(moving: int, seconds: float, interval: float | None, *, most: int = 490) -> int:
        return ahead_size(most, moving, Estimate(seconds, seconds), interval)

    assert size(10, 0.001, None) == int(WINDOW / 0.00105)
    assert size(10, 0.001, 0.0001) == 10 * WINDOW / 0.001
    assert size(5, 0.001, 0.0001) == 5 * WINDOW / 0.001
    assert size(10, 0.00001, 0.00001) == 490
    assert size(10, 0.01, 0.5) == 0
    assert size(10, 0.00001, None, most=-1) == 0


def test_more_jobs_with_steps_are_claimed_ahead() -> None:
    plain, with_steps = Estimate(0.0001, 0.0001), Estimate(0.0301, 0.0001)

    assert ahead_size(490, 10, plain, 0.001) == int(WINDOW / 0.001)
    assert ahead_size(490, 10, with_steps, 0.001) == int(STORE_WINDOW / 0.001)
    assert ahead_size(490, 10, with_steps, None) == int(STORE_WINDOW / 0.00315)  # ten of them wait at once


def test_better_jobs_begin_first() -> None:
    queue = AheadQueue()
    queue.put([_held(2), _held(3)])
    queue.put([_held(4, priority=1), _held(1)])

    assert [_taken(queue, number) for number in (1, 2, 5, 1)] == [[4], [1, 2], [3], []]


def test_the_interval_is_measured_when_as_many_jobs_have_begun_as_waited(time: Time) -> None:
    queue = AheadQueue()
    queue.put([_held(seq, time.now) for seq in range(10)])
    queue.take(4)
    time.now += 0.02
    queue.take(5)
    assert queue.interval is None

    queue.take(1)

    assert queue.interval == pytest.approx(0.002)


def test_all_jobs_are_overdue_if_one_has_waited_too_long(time: Time) -> None:
    queue = AheadQueue()
    queue.put([_held(1, time.now)])
    time.now += ahead.OVERDUE / 2
    queue.put([_held(2, time.now)])
    assert queue.take_overdue() == []

    time.now += ahead.OVERDUE * 0.6

    assert [each.record.seq for each in queue.take_overdue()] == [1, 2]
    assert (len(queue.waiting), queue.stalled, queue.interval) == (0, True, None)


def _held(seq: int, begun: float = 0.0, *, priority: int = 0) -> HeldClaim:
    record: Record = create(new_job("quick", priority=priority), seq=seq)
    options: RunOptions = OPTIONS[0]
    return HeldClaim(record, options, begun, begun)


def _taken(queue: AheadQueue, number: int) -> list[int]:
    return [each.record.seq for each in queue.take(number)]
