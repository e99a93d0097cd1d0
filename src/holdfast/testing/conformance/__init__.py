"""Conformance cases: they test whether a store keeps the contract of `holdfast.engine.operations`.

A case is a coroutine whose name is a sentence. There is one file per verb or topic. Each case runs through the
blocking methods of the store and through its async methods. No case depends on which store it tests, and none is
skipped. A store of your own is tested with a few lines:

    import pytest
    from holdfast.testing.conformance import CASES, Case, Mode

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_my_store_keeps_the_contract(case: Case, mode: Mode, tmp_path: Path) -> None:
        case.run(lambda: MyStore(tmp_path / "jobs"), mode)

`run` calls the given function at the start: it must return a store without any jobs. Each later call must return
another object for the same data. A store that keeps its data in the object returns the same object again. The case
sets the `clock` of the store before it opens the store. With
`pytest.register_assert_rewrite("holdfast.testing.conformance")` in a conftest, pytest shows the compared values.
"""

from holdfast.testing.conformance.cases import CASES, Case
from holdfast.testing.conformance.harness import Harness, Mode, StoreFactory

__all__ = ["CASES", "Case", "Harness", "Mode", "StoreFactory"]
