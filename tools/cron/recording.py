"""Run the tests of a cron package, and write every tick that they calculate, as JSON lines.

`python recording.py cronsim FOLDER FILE`. The folder contains the test files. Each line is `[expression, zone, after,
tick]`, with instants in seconds since 1970; the tick is null if the package refuses the expression. The package's own
tests must pass, so each recorded tick is one that its authors expect.
"""

from __future__ import annotations

import json
import sys
import unittest
from datetime import UTC, datetime, tzinfo
from importlib import import_module
from pathlib import Path
from typing import Any

Case = tuple[str, str, float, float | None]
cases: list[Case] = []


def zone_name(zone: tzinfo | None) -> str | None:
    """The name of a time zone, of any of the libraries that the tests use. None if it has none."""
    if zone is None:
        return "UTC"
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) else None


def seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def record(expression: Any, after: Any, tick: float | None) -> None:
    if isinstance(expression, str) and isinstance(after, datetime) and (zone := zone_name(after.tzinfo)) is not None:
        cases.append((expression, zone, seconds(after), tick))


def record_cronsim() -> None:
    package: Any = import_module("cronsim")
    schedule: Any = package.CronSim
    initialize, following = schedule.__init__, schedule.__next__

    def recorded_initialize(self: Any, expression: str, after: datetime, reverse: bool = False) -> None:
        try:
            initialize(self, expression, after, reverse)
        except package.CronSimError:
            record(expression, after, None)
            raise
        self.recorded = (expression, after, reverse)

    def recorded_following(self: Any) -> Any:
        expression, after, reverse = self.recorded
        tick = following(self)
        if not reverse:
            record(expression, after, seconds(tick))
        self.recorded = (expression, tick, reverse)
        return tick

    schedule.__init__, schedule.__next__ = recorded_initialize, recorded_following


def record_croniter() -> None:
    package: Any = import_module("croniter")
    schedule: Any = package.croniter
    initialize, get_next = schedule.__init__, schedule.get_next

    def recorded_initialize(self: Any, expression: Any, start_time: Any = None, *args: Any, **options: Any) -> None:
        # Other options change the meaning of the expression.
        self.recorded = expression if not args and set(options) <= {"ret_type"} else None
        try:
            initialize(self, expression, start_time, *args, **options)
        except package.CroniterBadCronError:
            record(self.recorded, start_time, None)
            raise

    def recorded_next(self: Any, ret_type: Any = None, start_time: Any = None, update_current: Any = True) -> Any:
        after = self.get_current(datetime) if start_time is None else None
        tick = get_next(self, ret_type, start_time, update_current)
        record(self.recorded, after, seconds(tick) if isinstance(tick, datetime) else float(tick))
        return tick

    schedule.__init__, schedule.get_next = recorded_initialize, recorded_next


def main(package: str, folder: Path, file: Path) -> int:
    {"cronsim": record_cronsim, "croniter": record_croniter}[package]()
    suite = unittest.defaultTestLoader.discover(str(folder), f"test_{package}*.py", str(folder))
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    file.write_text("".join(json.dumps(case) + "\n" for case in dict.fromkeys(cases)))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
