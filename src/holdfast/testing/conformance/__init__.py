"""Does a store keep the contract of `holdfast.engine.operations`? Every sentence of it, as a case to run.

A case is a coroutine whose name is a sentence, one file per verb or topic. It runs through the store's blocking half
and through its async half, asks nothing about which store it is on, and leaves nothing out. A store of your own is
tested with a few lines:

    import pytest
    from holdfast.testing.conformance import CASES, Case, Mode

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_my_store_keeps_the_contract(case: Case, mode: Mode, tmp_path: Path) -> None:
        case.run(lambda: MyStore(tmp_path / "jobs"), mode)

The function given to `run` makes a handle on one place that is empty at first, and another handle on the same place
each time it is called again; a store that lives inside its object gives that object. Its `clock` is set before it is
opened. `pytest.register_assert_rewrite("holdfast.testing.conformance")` in a conftest shows what differed.
"""

from holdfast.testing.conformance.cases import CASES, Case
from holdfast.testing.conformance.harness import Harness, Mode, Place

__all__ = ["CASES", "Case", "Harness", "Mode", "Place"]
