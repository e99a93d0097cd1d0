"""Reads commands from the guide, for tests that run them."""

from __future__ import annotations

from pathlib import Path


def rights_in_guide(user: str = "holdfast") -> list[str]:
    """The command that creates this user, for the namespace `shop`."""
    guide = Path("docs/stores/redis.md").read_text()
    return next(line for line in guide.splitlines() if line.startswith(f"ACL SETUSER {user} ")).split()
