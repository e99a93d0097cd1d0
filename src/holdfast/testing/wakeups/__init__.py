"""Conformance cases for wake-ups: they test whether an implementation keeps the contract of `holdfast.Wakeups`.

An implementation of your own is tested with a few lines:

    import pytest
    from holdfast.testing.wakeups import CASES, Case

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_my_wakeups_keep_the_contract(case: Case) -> None:
        channel = new_name()
        case.run(lambda: MyWakeups(f"nats://localhost/{channel}"))

Each call of the given function must return an object for the same channel, and nothing else may use that channel. An
implementation that works within one object returns that object each time. The case opens and closes objects that are
`ConnectedWakeups`. With `pytest.register_assert_rewrite("holdfast.testing.wakeups")` in a conftest, pytest shows the
compared values.
"""

from holdfast.testing.wakeups.cases import CASES, Case
from holdfast.testing.wakeups.participants import Participants, RecordingListener, WakeupsFactory

__all__ = ["CASES", "Case", "Participants", "RecordingListener", "WakeupsFactory"]
