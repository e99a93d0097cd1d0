"""Tools that change something. A bulk action is shown first, and acts after its confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

from holdfast.cli.assistant.arguments import options
from holdfast.cli.assistant.previews import Previews
from holdfast.cli.assistant.run_command import Commands

CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
SHOWN = 20
"""Chains that a preview lists. All of them are part of the action."""


class OperateTools:
    """Every change is recorded in the audit. The docstring of a tool is the description that the assistant reads."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._previews = Previews()

    async def retry(self, id: str, reason: str) -> dict[str, Any]:
        """Run one failed or cancelled chain again."""
        return await self._commands.run("retry", *options(reason=reason), "--", id)

    async def cancel(self, id: str, reason: str) -> dict[str, Any]:
        """Cancel one chain. A running handler is stopped."""
        return await self._commands.run("cancel", *options(reason=reason), "--", id)

    async def run_now(self, id: str, reason: str) -> dict[str, Any]:
        """Make one scheduled job due at once."""
        return await self._commands.run("run-now", *options(reason=reason), "--", id)

    async def pause(self, types: list[str], reason: str) -> dict[str, Any]:
        """Stop claims of these types until they are resumed. Running jobs continue."""
        return await self._commands.run("pause", *options(reason=reason), "--", *types)

    async def resume(self, types: list[str], reason: str) -> dict[str, Any]:
        """Allow claims of these types again."""
        return await self._commands.run("resume", *options(reason=reason), "--", *types)

    async def fire(self, schedule: str) -> dict[str, Any]:
        """Start a chain of a schedule now."""
        return await self._commands.run("fire", "--", schedule)

    async def pause_schedule(self, schedule: str, reason: str) -> dict[str, Any]:
        """Skip the ticks of a schedule until it is resumed."""
        return await self._commands.run("pause-schedule", *options(reason=reason), "--", schedule)

    async def resume_schedule(self, schedule: str) -> dict[str, Any]:
        """Let a paused schedule tick again."""
        return await self._commands.run("resume-schedule", "--", schedule)

    async def set_limit(self, name: str, number: int, key: str | None = None) -> dict[str, Any]:
        """Set the number of a limit or rate, or of one lane, until it is reset. 0 pauses."""
        return await self._commands.run("limits", "set", *options(key=key), "--", name, str(number))

    async def reset_limit(self, name: str, key: str | None = None) -> dict[str, Any]:
        """Return a limit or rate, or one lane, to its declared number."""
        return await self._commands.run("limits", "reset", *options(key=key), "--", name)

    async def bulk(
        self,
        action: Literal["retry", "cancel"],
        reason: str,
        status: list[str] | None = None,
        type: list[str] | None = None,
        chain_type: list[str] | None = None,
        key: str | None = None,
        created_since: str | None = None,
        failed_since: str | None = None,
        error: str | None = None,
        group: str | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """Show what a bulk action would change. Nothing is changed until `confirm` is called with the token.

        Filters as in `list`. Show the user the number and the chains, and confirm only after the user has agreed.
        """
        filters = options(
            status=status, type=type, chain_type=chain_type, key=key, created_since=created_since,
            failed_since=failed_since, error=error, group=group, limit=limit,
        )  # fmt: skip
        return await _preview(self._commands, self._previews, action, reason, filters)

    async def confirm(self, token: str) -> dict[str, Any]:
        """Carry out a bulk action that was shown, on exactly the chains that it was shown with."""
        preview = self._previews.take(token)
        return await self._commands.run(preview.action, *preview.arguments, "-", input="\n".join(preview.ids))

    def add_to(self, server: MCPServer[Any]) -> None:
        changing = (
            self.retry, self.run_now, self.pause, self.resume, self.fire, self.pause_schedule, self.resume_schedule,
            self.set_limit, self.reset_limit, self.bulk,
        )  # fmt: skip
        for tool in changing:
            server.add_tool(tool, annotations=CHANGES)
        server.add_tool(self.cancel, annotations=DESTROYS)
        server.add_tool(self.confirm, annotations=DESTROYS)


async def _preview(
    commands: Commands, previews: Previews, action: str, reason: str, filters: Sequence[str]
) -> dict[str, Any]:
    document = await commands.run(action, "--dry-run", *filters)
    items = document["items"]
    if not items:
        return {"matched": 0, "items": [], "note": "nothing matches the filter"}
    token = previews.add(action, options(reason=reason), [item["id"] for item in items])
    return {"matched": len(items), "items": items[:SHOWN], "confirm": token, "note": f"not done yet: {action}"}
