from __future__ import annotations

import pytest

from holdfast.client.waiting import ChainSubscription, Sleep
from holdfast.engine.operations import GetChains
from holdfast.engine.wakeups import ANYTHING, Hints, LocalWakeups


@pytest.mark.parametrize(
    ("hints", "fresh"), [(Hints(finished={"mine"}), True), (ANYTHING, False), (Hints(finished={"another"}), False)]
)
def test_only_a_chain_that_was_named_is_taken_to_have_just_ended(hints: Hints, fresh: bool) -> None:
    wakeups = LocalWakeups()
    watcher = ChainSubscription(wakeups, "mine")
    waiting = watcher.finished(None, look=False)
    assert isinstance(next(waiting), Sleep)

    wakeups.send(hints)

    assert waiting.send(None) == GetChains(("mine",), fresh=fresh)
    watcher.close()
