"""Fixtures for pages that are followed step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell in an empty folder. What still runs at the end is stopped."""
    shell = Shell(tmp_path)
    yield shell
    shell.close()
