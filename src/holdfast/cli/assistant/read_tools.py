"""Tools that only read."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from holdfast.cli.assistant.arguments import options
from holdfast.cli.assistant.run_command import Commands

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class ReadTools:
    """Without `payloads`, inputs, outputs and stored logs are never part of an answer.

    The docstring of a tool is the description that the assistant reads.
    """

    def __init__(self, commands: Commands, *, payloads: bool) -> None:
        self._commands = commands
        self._payloads = payloads

    async def status(self) -> dict[str, Any]:
        """Numbers of jobs by type and status, live workers, and rates of the last five minutes."""
        return await self._commands.run("status", "--rates")

    async def doctor(self) -> dict[str, Any]:
        """What is wrong: settings, the store, jobs that no live worker runs, jobs that hold an order."""
        return await self._commands.run("doctor")

    async def explain(self, id: str) -> dict[str, Any]:
        """Why a job is in its state and what would change that. `id` is the id of a chain or of a job."""
        return await self._commands.run("explain", "--", id)

    async def errors(self, since: str = "24h", type: list[str] | None = None, limit: int = 20) -> dict[str, Any]:
        """The most frequent errors of failed attempts, grouped. `since`: `10m`, at most `24h`."""
        return await self._commands.run("errors", *options(since=since, type=type, limit=limit))

    async def list_chains(
        self,
        status: list[str] | None = None,
        type: list[str] | None = None,
        chain_type: list[str] | None = None,
        key: str | None = None,
        created_since: str | None = None,
        failed_since: str | None = None,
        finished_since: str | None = None,
        error: str | None = None,
        worker: str | None = None,
        group: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Chains, newest first. `type` is the type of the last job; times are `2h`, `7d` or `2026-01-31`.

        `status`: blocked, pending, scheduled, running, completed, failed or cancelled. `group`: a fingerprint.
        """
        arguments = options(
            status=status, type=type, chain_type=chain_type, key=key, created_since=created_since,
            failed_since=failed_since, finished_since=finished_since, error=error, worker=worker, group=group,
            limit=limit, cursor=cursor,
        )  # fmt: skip
        return await self._commands.run("list", *arguments)

    async def show(self, id: str, payload: bool = False) -> dict[str, Any]:
        """A chain with its jobs, blockers and explanation. With `payload` also inputs and outputs, if allowed."""
        if payload and not self._payloads:
            raise ToolError("payloads are not shown: start the server with `holdfast mcp --payloads`")
        return await self._commands.run("show", *options(payload=payload), "--", id)

    async def report(self, id: str) -> dict[str, Any]:
        """Every attempt of a chain or job: worker, times, outcome, error; the stored log if payloads are allowed."""
        document = await self._commands.run("report", "--", id)
        return document if self._payloads else _without_logs(document)

    async def schedules(self) -> dict[str, Any]:
        """Schedules with their next ticks, whether they are paused, and their counts."""
        return await self._commands.run("schedules")

    async def limits(self) -> dict[str, Any]:
        """Limits, rates and orders: the numbers in force, the lanes with most waiting jobs, and what holds them."""
        return await self._commands.run("limits")

    async def workers(self) -> dict[str, Any]:
        """Live workers: host, process, types, and how many jobs each runs."""
        return await self._commands.run("workers")

    def add_to(self, server: MCPServer[Any]) -> None:
        tools = (
            self.status, self.doctor, self.explain, self.errors, self.show, self.report, self.schedules, self.limits,
            self.workers,
        )  # fmt: skip
        for tool in tools:
            server.add_tool(tool, annotations=READS)
        server.add_tool(self.list_chains, name="list", annotations=READS)


def _without_logs(report: dict[str, Any]) -> dict[str, Any]:
    """The answer of `report` without the stored logs: attempts of the last job, and of each job of the chain."""
    attempts = [{name: value for name, value in each.items() if name != "log"} for each in report["attempts"]]
    jobs = {"jobs": [_without_logs(each) for each in report["jobs"]]} if "jobs" in report else {}
    return {**report, "attempts": attempts, **jobs}
