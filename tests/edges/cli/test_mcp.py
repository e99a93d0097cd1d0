"""`mcp`: an assistant reads, and changes only what it may, checked with the SDK's own client."""

import asyncio
import logging
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from holdfast import Client as JobsClient
from holdfast import Jobs
from holdfast.cli.assistant.server import assistant_server
from holdfast.cli.settings import Flags
from holdfast.contrib.logging import StoreLogs
from holdfast.testing import drain
from tests.edges.cli.conftest import CommandLine

READING = {"status", "explain", "errors", "list", "show", "report", "doctor", "schedules", "limits", "workers"}


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    """The document that a tool answers with."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content.get("result", answer.structured_content)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The text with which a tool refuses."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content)


async def test_by_default_it_offers_only_tools_that_read(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=424242)
    async with Client(assistant_server(Flags())) as client:
        tools = (await client.list_tools()).tools

        assert {tool.name for tool in tools} == READING
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
        assert (await ask(client, "explain", id=chain_id))["reasons"][0]["kind"] == "no_worker"
        assert [item["id"] for item in (await ask(client, "list", type=["add"]))["items"]] == [chain_id]
        assert "424242" not in str(await ask(client, "show", id=chain_id))
        assert "--payloads" in await refusal(client, "show", id=chain_id, payload=True)
        assert "there is no job" in await refusal(client, "explain", id="--all")
        await asyncio.gather(*(ask(client, tool) for tool in READING - {"explain", "show", "report", "list"}))


async def test_payloads_and_logs_are_shown_where_they_are_allowed(holdfast: CommandLine) -> None:
    jobs = Jobs(plugins=[StoreLogs()])

    @jobs.job
    async def pack(order: int) -> None:
        logging.getLogger("shop").warning("order %s is packed", order)

    async with JobsClient(holdfast.store, jobs, migrate=True) as shop:
        chain = await shop.start(pack.bind(424242))
        await drain(shop)
    async with Client(assistant_server(Flags(), payloads=True)) as client:
        assert "424242" in str(await ask(client, "show", id=chain.id, payload=True))
        assert "424242 is packed" in str(await ask(client, "report", id=chain.id))
    async with Client(assistant_server(Flags())) as client:
        assert "424242" not in str(await ask(client, "report", id=chain.id))


async def test_a_bulk_action_changes_the_chains_of_its_preview_after_the_confirmation(holdfast: CommandLine) -> None:
    shown = {holdfast.start("add", a=n) for n in range(3)}
    async with Client(assistant_server(Flags(), operate=True)) as client:
        preview = await ask(client, "bulk", action="cancel", reason="wrong prices", type=["add"])
        assert preview["matched"] == 3
        assert {chain["status"] for chain in holdfast.json("list")["items"]} == {"pending"}
        later = holdfast.start("add", a=4)

        done = await ask(client, "confirm", token=preview["confirm"])

        assert {item["id"] for item in done["items"] if item["done"]} == shown
        assert holdfast.json("show", later)["status"] == "pending"
        assert {item["reason"] for item in holdfast.json("audit")["items"]} == {"wrong prices"}
        assert "new preview" in await refusal(client, "confirm", token=preview["confirm"])
        assert (await ask(client, "bulk", action="retry", reason="", type=["nothing"]))["matched"] == 0


async def test_single_changes_need_the_flag_and_are_audited(holdfast: CommandLine) -> None:
    chain_id = holdfast.start("add", a=1)
    async with Client(assistant_server(Flags())) as client:
        assert "unknown tool" in (await refusal(client, "cancel", id=chain_id, reason="")).lower()
    async with Client(assistant_server(Flags(), operate=True)) as client:
        await ask(client, "pause", types=["add"], reason="incident 12")
        await ask(client, "resume", types=["add"], reason="incident 12 is over")
        await ask(client, "cancel", id=chain_id, reason="not wanted")
        await ask(client, "retry", id=chain_id, reason="wanted after all")
    assert [item["action"] for item in holdfast.json("audit")["items"]] == ["retry", "cancel", "resume", "pause"]


async def test_it_speaks_over_standard_input_and_output(store: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "holdfast.cli", "mcp"], env={"HOLDFAST_STORE": store}
    )
    async with Client(stdio_client(server)) as client:
        assert (await ask(client, "status"))["store"].startswith("sqlite")


def test_a_missing_store_ends_the_command_at_once(holdfast: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_STORE")
    assert "which store?" in holdfast("mcp", exit=2).err
