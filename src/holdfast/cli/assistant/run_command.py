"""Runs a command of this program as a process, and returns its JSON answer."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec
from mcp.server.mcpserver.exceptions import ToolError

from holdfast.cli.settings import Flags

TIMEOUT = 60.0
"""Seconds that a command may take. The statements of the store have shorter limits of their own."""


class Commands:
    """The commands, with the store and the configuration of `holdfast mcp`.

    Each call is a process of its own, because standard output belongs to the protocol. The store's address is passed
    in the environment, where other users cannot read it.
    """

    def __init__(self, flags: Flags) -> None:
        self._options = ["--json", *(["--config", str(flags.config)] if flags.config is not None else [])]
        self._environment = dict(os.environ, NO_COLOR="1")
        if flags.store is not None:
            self._environment["HOLDFAST_STORE"] = flags.store
        if flags.app is not None:
            self._environment["HOLDFAST_APP"] = flags.app

    async def run(self, *arguments: str, input: str = "") -> dict[str, Any]:
        """Run `holdfast ARGUMENTS --json`. Raises ToolError with the command's own message if it is refused."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "holdfast.cli", *self._options, *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with asyncio.timeout(TIMEOUT):
                out, err = await process.communicate(input.encode())
        except TimeoutError:
            raise ToolError(f"`holdfast {arguments[0]}` took longer than {TIMEOUT:.0f} s; narrow the filter") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _document(out, err)


def _document(out: bytes, err: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(out, type=dict[str, Any])
    except msgspec.DecodeError:
        raise ToolError(err.decode(errors="replace").strip() or "the command gave no answer") from None
    match document:
        case {"error": {"exit": int(), "message": str(message)}}:
            raise ToolError(message)
        case _:
            return document
