"""A worker refuses a wrong or closed client at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast import Client, Jobs, SyncClient, Worker

jobs = Jobs()


@jobs.job
async def rest() -> None: ...


async def test_a_worker_on_a_client_that_is_not_open_is_refused(tmp_path: Path) -> None:
    client = Client(f"sqlite:///{tmp_path}/jobs.db", jobs)

    with pytest.raises(RuntimeError, match="is not open; use `with`"):
        await Worker(client).run(signals=False)
    with pytest.raises(RuntimeError, match="is not open; use `with`"):
        await Worker(client).__aenter__()


async def test_a_worker_on_a_client_that_was_closed_is_refused(tmp_path: Path) -> None:
    async with Client(f"sqlite:///{tmp_path}/jobs.db", jobs) as client:
        pass

    with pytest.raises(RuntimeError, match="was closed"):
        await Worker(client).run(signals=False)
    with pytest.raises(RuntimeError, match="was closed"):
        await client.start(rest.bind())


@pytest.mark.parametrize("wrong", ["sqlite:///jobs.db", SyncClient("memory://", jobs), jobs])
def test_a_worker_takes_a_client(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"given an open Client, not a {type(wrong).__name__}"):
        Worker(wrong)
