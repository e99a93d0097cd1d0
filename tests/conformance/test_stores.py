"""Each store keeps the contract, blocking and async."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.testing.conformance import CASES, Case, Mode, StoreFactory
from tests.conformance.conftest import STORES, sharded

ALL = {**STORES, "sharded": sharded}


@pytest.fixture(params=ALL)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    return ALL[request.param](tmp_path)


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_store_keeps_the_contract(case: Case, mode: Mode, make_store: StoreFactory) -> None:
    case.run(make_store, mode)
