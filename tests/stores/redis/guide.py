"""Reads commands from the guide, for tests that run them."""

from __future__ import annotations

from pathlib import Path


def rights_in_guide() -> list[str]:
    """The command that creates a user for Holdfast, for the namespace `shop`."""
    guide = Path("docs/stores/redis.md").read_text()
    return next(line for line in guide.splitlines() if line.startswith("ACL SETUSER")).split()
