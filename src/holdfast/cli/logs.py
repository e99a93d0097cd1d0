"""The log of a worker on stderr: one line per event. Data cannot add or break lines."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from holdfast.cli.printable import printable, write_json

PREFIX = "holdfast_"


class LineFormatter(logging.Formatter):
    """Text. The lines of a traceback or stack follow their event, each behind a bar."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S.%f")[:-3]
        line = f"{moment} {record.levelname:<7} {printable(record.getMessage())}"
        below: list[str] = list(getattr(record, f"{PREFIX}stack", ()))
        if record.exc_info:
            below += self.formatException(record.exc_info).split("\n")
        return line + "".join(f"\n    | {printable(each)}" for each in below)


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in vars(record).items():
            if name.startswith(PREFIX):
                document[name.removeprefix(PREFIX)] = value
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return write_json(document)


def log_to_stderr(*, level: str, as_json: bool) -> None:
    """Send the log of this process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
