"""Hints, and wake-ups within a process."""

from __future__ import annotations

from holdfast.engine.wakeups import ANYTHING, Hints, LocalWakeups, NoWakeups


def test_empty_hints_are_false() -> None:
    assert not Hints()
    assert ANYTHING
    for hints in (Hints(due={"a"}), Hints(finished={"a"}), Hints(lost={"a"}), Hints(recorded=True)):
        assert hints


def test_every_listener_receives_hints_until_it_unsubscribes() -> None:
    wakeups = LocalWakeups()
    one: list[Hints] = []
    two: list[Hints] = []
    unsubscribe = wakeups.subscribe(one.append)
    wakeups.subscribe(two.append)

    wakeups.send(ANYTHING)
    unsubscribe()
    unsubscribe()
    wakeups.send(ANYTHING)

    assert (len(one), len(two)) == (1, 2)
    assert wakeups.healthy


def test_a_listener_may_unsubscribe_while_it_is_called() -> None:
    wakeups = LocalWakeups()
    received: list[Hints] = []

    def once(hints: Hints) -> None:
        received.append(hints)
        unsubscribe()

    unsubscribe = wakeups.subscribe(once)
    wakeups.subscribe(received.append)
    wakeups.send(ANYTHING)
    wakeups.send(ANYTHING)

    assert len(received) == 3


def test_no_wakeups_deliver_nothing_and_are_not_healthy() -> None:
    wakeups, received = NoWakeups(), list[Hints]()
    wakeups.subscribe(received.append)()

    wakeups.send(ANYTHING)

    assert (received, wakeups.healthy) == ([], False)
