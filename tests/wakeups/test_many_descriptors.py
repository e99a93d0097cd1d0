"""Wake-ups work in a process with more than 1,024 open descriptors: `select()` refuses higher ones."""

from __future__ import annotations

import os
import resource
from collections.abc import Generator

import pytest

from holdfast.testing.wakeups import CASES, WakeupsFactory

SELECT_LIMIT = 1024
"""FD_SETSIZE: select() takes only descriptors below this number."""
DELIVERY = [case for case in CASES if "receives hints sent by its own and by another object" in str(case)]


@pytest.fixture
def many_descriptors() -> Generator[None]:
    """Every descriptor that the test opens is above the limit of select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * SELECT_LIMIT)), hard))
    opened = [os.open(os.devnull, os.O_RDONLY)]
    while opened[-1] < SELECT_LIMIT:
        opened.append(os.open(os.devnull, os.O_RDONLY))
    yield
    for each in opened:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_hints_arrive_over_high_descriptors(make_wakeups: WakeupsFactory) -> None:
    (case,) = DELIVERY

    case.run(make_wakeups)
