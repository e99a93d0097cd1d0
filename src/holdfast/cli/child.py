"""A worker process of `holdfast supervise`, which logs as the command line does."""

from __future__ import annotations

from holdfast.cli.logs import log_to_stderr
from holdfast.supervisor.child import main
from holdfast.supervisor.child_protocol import Logging


def set_up(settings: Logging) -> None:
    """Apply the logging settings of the supervisor."""
    log_to_stderr(level=settings.level, as_json=settings.json)


if __name__ == "__main__":
    main(set_up)
