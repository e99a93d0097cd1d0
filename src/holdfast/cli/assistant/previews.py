"""Bulk actions that were shown to the user and wait for a confirmation."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

LIFETIME = 600.0
"""Seconds after which a preview can no longer be confirmed."""
KEPT = 100


@dataclass(frozen=True, slots=True)
class ShownAction:
    """An action and the chains that it was shown with. Chains that match the filter later are not part of it."""

    action: str
    arguments: Sequence[str]
    ids: Sequence[str]
    expires: float


class Previews:
    """Previews by their token. Each can be confirmed once."""

    def __init__(self) -> None:
        self._waiting: dict[str, ShownAction] = {}

    def add(self, action: str, arguments: Sequence[str], ids: Sequence[str]) -> str:
        """Keep a preview, and return its token."""
        while len(self._waiting) >= KEPT:
            del self._waiting[next(iter(self._waiting))]
        token = secrets.token_urlsafe(8)
        self._waiting[token] = ShownAction(action, arguments, ids, time.monotonic() + LIFETIME)
        return token

    def take(self, token: str) -> ShownAction:
        """Remove a preview that is confirmed now. Raises ToolError if there is none with this token."""
        preview = self._waiting.pop(token, None)
        if preview is None or preview.expires < time.monotonic():
            raise ToolError("no preview waits for this confirmation: ask for a new preview with the action's tool")
        return preview
