"""The smoke profile on every store that processes can share: crashes, freezes and cuts, and nothing broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture import report
from torture.checker import Word, check
from torture.profiles import PROFILES
from torture.run import torture

SEED = 11


@pytest.mark.parametrize("store", ["sqlite", "postgres", "redis"])
def test_no_invariant_is_broken(store: str, tmp_path: Path) -> None:
    evidence = torture(store, PROFILES["smoke"], tmp_path, seed=SEED, name="smoke")

    verdicts = check(evidence)
    told = report.as_text(report.summary(evidence, verdicts))
    assert [verdict.number for verdict in verdicts if verdict.word is Word.VIOLATED] == [], told
    happened = {verdict.number for verdict in verdicts if verdict.word is Word.OK}
    assert {1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 22, 23, 27, 29, 30, 32} <= happened, told
