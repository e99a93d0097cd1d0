"""A worker process of `holdfast supervise`: like any other, and logs as the command line does."""

from __future__ import annotations

from holdfast.cli.logs import log_to_stderr
from holdfast.supervisor.child import main
from holdfast.supervisor.child_protocol import Logging


def set_up(settings: Logging) -> None:
    """Log as the supervisor was told to."""
    log_to_stderr(level=settings.level, as_json=settings.json)


if __name__ == "__main__":
    main(set_up)
