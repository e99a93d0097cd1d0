"""The context variable of the running job."""

from __future__ import annotations

import pytest

from holdfast import Client, Jobs
from holdfast.testing import drain
from holdfast.worker import running_job

jobs = Jobs()


@jobs.job
async def read() -> str | None:
    job = running_job.running_job.get()
    return None if job is None else job.id


@pytest.mark.parametrize("used", [True, False])
async def test_the_variable_is_set_only_if_a_module_uses_it(monkeypatch: pytest.MonkeyPatch, *, used: bool) -> None:
    monkeypatch.setattr(running_job, "_used", False)
    if used:
        running_job.use_running_job()
    async with Client("memory://", jobs) as client:
        chain = await client.start(read.bind())
        await drain(client)

        assert await client.wait(chain, timeout=10) == (chain.id if used else None)
