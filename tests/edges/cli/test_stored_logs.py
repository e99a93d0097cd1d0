"""`report` shows the logs that StoreLogs stored."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from holdfast import Client, Jobs
from holdfast.contrib.logging import StoreLogs
from holdfast.testing import drain
from tests.edges.cli.conftest import CommandLine


def test_the_command_shows_the_log(holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("shop")
    monkeypatch.setattr(log, "level", logging.INFO)
    jobs = Jobs(plugins=[StoreLogs()])

    @jobs.job
    def pack(order: int) -> None:
        log.info("packing \x1b[2J %s", order)

    async def run() -> str:
        async with Client(holdfast.store, jobs, migrate=True) as client:
            chain = await client.start(pack.bind(7))
            await drain(client)
            return chain.id

    chain_id = asyncio.run(run())
    shown = holdfast("report", chain_id).out
    assert "log of attempt 1" in shown
    assert "INFO shop: packing" in shown
    assert "\x1b" not in shown
    document = json.loads(holdfast("report", chain_id, "--json").out)
    assert document["attempts"][0]["log"].endswith("packing \x1b[2J 7")
