"""Do wake-ups keep the contract of `holdfast.Wakeups`? Every sentence of it, as a case to run.

Wake-ups of your own are tested with a few lines:

    import pytest
    from holdfast.testing.wakeups import CASES, Case

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_my_wakeups_keep_the_contract(case: Case) -> None:
        channel = new_name()
        case.run(lambda: MyWakeups(f"nats://localhost/{channel}"))

The function given to `run` makes a handle on one and the same channel, which nobody else uses, each time it is called;
wake-ups that live inside their object give that object. Handles that are `ConnectedWakeups` are opened and closed.
`pytest.register_assert_rewrite("holdfast.testing.wakeups")` in a conftest shows what differed.
"""

from holdfast.testing.wakeups.cases import CASES, Case
from holdfast.testing.wakeups.participants import Parties, Party, Place

__all__ = ["CASES", "Case", "Parties", "Party", "Place"]
