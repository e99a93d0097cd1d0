"""What the guide tells people to do, for tests that do it."""

from __future__ import annotations

from pathlib import Path


def rights_in_guide() -> list[str]:
    """The command that makes a user for Holdfast, in the namespace `shop`."""
    guide = Path("docs/stores/redis.md").read_text()
    return next(line for line in guide.splitlines() if line.startswith("ACL SETUSER")).split()
