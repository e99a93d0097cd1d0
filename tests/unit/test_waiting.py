"""Waiting for a chain: what was told with a wake-up is not read, unless it is of another chain."""

from __future__ import annotations

from holdfast.jobs import Jobs
from holdfast.operations import GetChains
from holdfast.waiting import Nap, Waiting, Watcher
from holdfast.wakeups import ANYTHING, Hints, LocalWakeups, Output


def test_an_output_that_came_with_the_wake_up_is_the_answer() -> None:
    wakeups = LocalWakeups()
    watcher = Watcher(wakeups, "chain")
    watcher.follow("chain", 7)
    wait = watcher.wait(Jobs(), None, look=False)
    assert isinstance(next(wait), Nap)

    wakeups.send(Hints(finished={"chain"}, output=Output("chain", 7, "add", b"3")))

    assert _end(wait) == 3


def test_without_an_output_the_chain_is_read() -> None:
    wakeups = LocalWakeups()
    for hints in (
        Hints(finished={"chain"}),
        ANYTHING,
        Hints(finished={"chain"}, output=Output("other", 7, "add", b"3")),
    ):
        wait = Watcher(wakeups, "chain").wait(Jobs(), None, look=False)
        next(wait)

        wakeups.send(hints)

        assert wait.send(None) == GetChains(("chain",))


def test_the_output_of_an_earlier_chain_of_that_id_is_not_the_answer() -> None:
    wakeups = LocalWakeups()
    watcher = Watcher(wakeups, "chain")
    wakeups.send(Hints(finished={"chain"}, output=Output("chain", 7, "add", b"3")))
    watcher.follow("chain", 8)
    wait = watcher.wait(Jobs(), None, look=False)
    next(wait)

    assert wait.send(None) == GetChains(("chain",))


def test_whoever_wants_the_whole_chain_reads_it() -> None:
    wakeups = LocalWakeups()
    wait = (watcher := Watcher(wakeups, "chain")).finished(None, look=False)
    watcher.follow("chain", 7)
    next(wait)

    wakeups.send(Hints(finished={"chain"}, output=Output("chain", 7, "add", b"3")))

    assert wait.send(None) == GetChains(("chain",))


def _end(wait: Waiting) -> object:
    try:
        wait.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits on")
