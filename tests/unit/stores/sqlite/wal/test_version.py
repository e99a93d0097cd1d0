from __future__ import annotations

import pytest

from holdfast.stores.sqlite.wal.version import wal_is_safe


@pytest.mark.parametrize("version", [(3, 51, 3), (3, 52, 0), (3, 53, 4), (4, 0, 0)])
def test_the_fixed_release_and_everything_after_it_is_safe(version: tuple[int, int, int]) -> None:
    assert wal_is_safe(version)


@pytest.mark.parametrize("version", [(3, 44, 6), (3, 44, 7), (3, 50, 7), (3, 50, 8)])
def test_the_two_older_branches_are_safe_from_their_own_fix_on(version: tuple[int, int, int]) -> None:
    assert wal_is_safe(version)


@pytest.mark.parametrize(
    "version", [(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 49, 9), (3, 50, 6), (3, 51, 0), (3, 51, 2)]
)
def test_everything_else_is_affected(version: tuple[int, int, int]) -> None:
    assert not wal_is_safe(version)
