"""After which delays many idle workers check for a new job."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.worker_record import WorkerRecord
from holdfast.worker.stagger import CLAIMS, LONGEST, SMALL_FLEET, SOON, SOON_WORKERS, Stagger

FLEET = 64


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000_000.5]
    monkeypatch.setattr("holdfast.worker.stagger.time.time", lambda: now[0])
    return now


def test_one_worker_claims_at_once_and_few_soon(second: list[float]) -> None:
    delays = [each.delay({"resize"}) for each in _fleet(FLEET)]

    assert delays.count(0.0) == 1
    assert delays.count(SOON) == SOON_WORKERS
    assert max(delays) < 1.0


def test_the_checks_per_second_of_a_busy_fleet_do_not_grow_with_its_size_up_to_two_hundred(second: list[float]) -> None:
    """Under load, each worker checks again as soon as its delay is over."""
    small, large = (
        sum(1 / each.delay({"resize"}) for each in _fleet(size)[1:] if each.delay({"resize"})) for size in (FLEET, 200)
    )

    assert large < 2 * small


@pytest.mark.parametrize("size", [200, 2000])
def test_every_worker_of_a_fleet_checks_within_a_second(second: list[float], size: int) -> None:
    delays = sorted(each.delay({"resize"}) for each in _fleet(size))

    assert delays[-1] <= LONGEST
    assert len(set(delays)) > size / 2


def test_delays_grow_on_a_slow_store_but_never_above_a_second(second: list[float]) -> None:
    fleet = _fleet(FLEET)
    for each in fleet:
        each.claimed(0.05)
    delays = sorted(each.delay({"resize"}) for each in fleet)

    assert delays[0] == 0.0
    assert delays[1] == CLAIMS * 0.05
    assert delays[-1] == LONGEST


def test_every_worker_is_the_first_at_some_time(second: list[float]) -> None:
    fleet = _fleet(8)
    first: Counter[int] = Counter()
    for _ in range(400):
        first.update(number for number, each in enumerate(fleet) if each.delay({"resize"}) == 0.0)
        second[0] += 1

    assert len(first) == 8
    assert max(first.values()) < 100


def test_a_small_fleet_claims_at_once(second: list[float]) -> None:
    assert [each.delay({"resize"}) for each in _fleet(SMALL_FLEET)] == [0.0] * SMALL_FLEET


def test_a_worker_that_knows_no_others_claims_at_once(second: list[float]) -> None:
    assert Stagger("alone").delay({"resize"}) == 0.0


def test_workers_of_other_types_and_workers_that_drain_are_not_counted(second: list[float]) -> None:
    others = [_record(f"other-{number}", "render") for number in range(FLEET)]
    draining = [_record(f"draining-{number}", "resize", draining=True) for number in range(FLEET)]
    worker = Stagger("w")
    worker.learn([_record("w", "resize"), *others, *draining])

    assert worker.delay({"resize"}) == 0.0


def test_the_shortest_delay_of_several_types_counts(second: list[float]) -> None:
    worker = Stagger("w")
    worker.learn([_record("w", "a", "b"), *(_record(f"other-{number}", "a") for number in range(FLEET))])

    assert worker.delay({"a", "b"}) == 0.0


def _fleet(size: int) -> list[Stagger]:
    records = [_record(f"worker-{number}", "resize") for number in range(size)]
    fleet = [Stagger(each.id) for each in records]
    for each in fleet:
        each.learn(records)
    return fleet


def _record(id: str, *types: str, draining: bool = False) -> WorkerRecord:
    return WorkerRecord(id, "host", 1, types, 10, draining=draining)
