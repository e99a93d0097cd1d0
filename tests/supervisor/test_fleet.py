"""A fleet of stand-ins: bounds, replacement, backoff and which process it drains, without a process or a clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

import pytest

from holdfast import Event, Retry, Status
from holdfast.engine.observers import Observers
from holdfast.engine.operations import TypeStats
from holdfast.supervisor import Group, Logging
from holdfast.supervisor.backlog import Reading
from holdfast.supervisor.child_protocol import ChildSettings
from holdfast.supervisor.fleet import Fleet

GROUP = Group(default_count=2, max_count=4, concurrency=10, scale_down_after=0)


@dataclass(eq=False)
class StandIn:
    """A worker process as the fleet sees it, without a real process."""

    settings: ChildSettings
    pid: int
    started: float
    name: str | None = "worker"
    greeted: bool = False
    busy: int = 0
    draining: bool = False
    stopped: bool = False
    code: int | None = None

    @property
    def ready(self) -> bool:
        return self.name is not None

    @property
    def asked_to_end(self) -> bool:
        return self.draining or self.stopped

    def drain(self) -> None:
        self.draining = True


@dataclass
class Scene:
    """A fleet, the time, and all processes that were started."""

    group: Group = GROUP
    now: float = 100.0
    started: list[StandIn] = field(default_factory=list[StandIn])
    events: list[Event] = field(default_factory=list[Event])
    refusal: OSError | None = None

    def __post_init__(self) -> None:
        observers = Observers([self.events.append])
        crashing = Retry(initial=1, multiplier=2, maximum=60, jitter=0, max_attempts=None)
        self.fleet = Fleet(settings(self.group), start=self._start, observers=observers, crashing=crashing)
        self.fleet.keep(self.now)

    def turn(self, due: int | None = 0, *, running: int = 0, after: float = 1.0) -> None:
        self.now += after
        self.fleet.scale(None if due is None else reading(due, running), self.now)

    @property
    def active(self) -> list[StandIn]:
        return cast("list[StandIn]", self.fleet.active)

    def _start(self, settings: ChildSettings) -> Any:
        if self.refusal is not None:
            raise self.refusal
        self.started.append(StandIn(settings, 1000 + len(self.started), self.now))
        return self.started[-1]


def settings(group: Group) -> ChildSettings:
    return ChildSettings(
        store="sqlite:///x", app=None, kinds=(), group=group, types=("a",), logging=Logging(), path=(), supervisor=1
    )


def reading(due: int, running: int) -> Reading:
    counts = {Status.PENDING: due, Status.RUNNING: running}
    return Reading({"a": TypeStats("a", counts, due=due, scheduled=0, oldest_due=None, paused=False)})


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_it_starts_with_the_default_count(scene: Scene) -> None:
    assert len(scene.active) == 2


def test_those_that_drain_count_towards_the_most_there_may_be(scene: Scene) -> None:
    scene.turn(due=40)
    for each in scene.active:
        each.drain()
    scene.turn(due=40)
    assert len(scene.fleet.processes) == 4
    assert scene.active == []

    scene.started[0].code = 0
    scene.turn(due=40)

    assert len(scene.fleet.processes) == 4
    assert len(scene.active) == 1


def test_due_jobs_find_a_free_slot_though_every_process_is_full(scene: Scene) -> None:
    for each in scene.active:
        each.busy = 10

    scene.turn(due=1, running=20)

    assert len(scene.active) == 3


def test_a_job_that_was_claimed_since_the_backlog_was_read_counts_once(scene: Scene) -> None:
    for each in scene.active:
        each.busy = 10

    scene.turn(due=20, running=0)

    assert len(scene.active) == 2


def test_what_other_machines_run_starts_nothing_here(scene: Scene) -> None:
    scene.turn(due=1, running=500)

    assert len(scene.active) == 2


def test_the_least_busy_is_let_go_first(scene: Scene) -> None:
    scene.turn(due=40)
    for each, busy in zip(scene.active, [3, 0, 2, 5], strict=True):
        each.busy = busy

    scene.turn(due=0)
    scene.turn(due=0)

    assert [each.busy for each in scene.started if each.draining] == [0, 2]


def test_one_that_has_not_started_yet_is_let_go_before_any_other(scene: Scene) -> None:
    scene.turn(due=30)
    scene.started[1].name = None

    scene.turn(due=0)
    scene.turn(due=0)

    assert [each.draining for each in scene.started] == [False, True, False]


def test_a_process_that_dies_after_a_while_is_replaced_at_once(scene: Scene) -> None:
    scene.turn(after=60)
    scene.started[0].code = -9

    scene.turn()

    assert len(scene.active) == 2
    assert scene.fleet.restarts == 1


def test_processes_that_die_young_are_replaced_one_at_a_time_and_ever_more_slowly(scene: Scene) -> None:
    begun: list[float] = []
    for each in scene.active:
        each.code = 1
    for _ in range(400):
        before = len(scene.started)
        scene.turn(after=0.5)
        if len(scene.started) > before:
            assert len(scene.started) == before + 1
            begun.append(scene.now)
            scene.started[-1].name, scene.started[-1].code = None, 1

    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert pauses == sorted(pauses)
    assert max(pauses) <= 61
    assert len(begun) < 10


def test_one_that_ends_before_it_is_ready_is_replaced_slowly_whatever_its_exit_code(scene: Scene) -> None:
    for each in scene.active:
        each.name, each.code = None, 0

    scene.turn(after=0.1)

    assert scene.active == []
    assert scene.fleet.crash_delay.crashes == 2


def test_a_process_that_lives_ends_the_backoff(scene: Scene) -> None:
    for each in scene.active:
        each.code = 1
    scene.turn()
    assert scene.fleet.crash_delay.crashes == 2

    scene.turn(after=5)
    scene.turn(after=20)
    scene.turn()

    assert scene.fleet.crash_delay.crashes == 0
    assert len(scene.active) == 2


def test_a_machine_that_starts_nothing_more_is_asked_again_later(scene: Scene) -> None:
    scene.refusal = OSError("no more processes")

    scene.turn(due=40)
    scene.refusal = None
    scene.turn(due=40, after=0.5)
    assert len(scene.active) == 2
    scene.turn(due=40, after=2)

    assert len(scene.active) == 3
    assert "no more processes" in str([event.detail for event in scene.events if event.kind == "process_died"])


def test_a_new_order_drains_those_of_the_old_one(scene: Scene) -> None:
    scene.fleet.follow(settings(replace(GROUP, concurrency=3)))

    scene.turn()

    assert [each.draining for each in scene.started] == [True, True, False, False]


def test_a_retired_fleet_drains_and_starts_nothing(scene: Scene) -> None:
    scene.fleet.retire()

    scene.turn(due=40)

    assert scene.active == []
    assert len(scene.started) == 2


def test_a_retired_fleet_that_is_wanted_again_starts_again_within_its_bounds(scene: Scene) -> None:
    scene.turn(due=40)
    scene.fleet.retire()
    scene.turn(due=40)

    scene.fleet.follow(settings(GROUP))
    scene.turn(due=40)
    assert scene.active == []
    for each in scene.started:
        each.code = 0
    scene.turn(due=40)

    assert len(scene.active) == 4


def test_an_unknown_backlog_stops_no_process_and_dead_ones_are_replaced(scene: Scene) -> None:
    scene.turn(due=40)
    scene.turn(due=None, after=100)
    scene.started[0].code = -9

    scene.turn(due=None)

    assert len(scene.active) == 4
