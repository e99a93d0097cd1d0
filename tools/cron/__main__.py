"""Compare our cron expressions with the tests of `cronsim` and `croniter`.

pip downloads the source distributions into a temporary folder; nothing of them is copied into the project. Their tests
run in processes of their own, which record every tick that they calculate. Each recorded tick must be the next one of
Holdfast too, unless `differences.py` names the difference. A difference that does not occur is an error as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from holdfast.core.clock import duration
from holdfast.core.cron import check_cron, instants, zone_of
from tools.cron.differences import CRONITER, difference
from tools.cron.recording import Case

PACKAGES = {"cronsim": "tests", "croniter": "src/croniter/tests"}
"""The folder of the tests in each source distribution."""
LIBRARIES = ("python-dateutil", "pytz", "six", "tzlocal")
"""What the tests import."""
RECORDING = Path(__file__).with_name("recording.py")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cron-") as name:
        folder = Path(name)
        libraries = str(folder / "libraries")
        subprocess.run([*PIP, "install", "-q", "--no-deps", "--target", libraries, *LIBRARIES], check=True)
        unknown = [line for package in PACKAGES for line in compare(package, recorded(package, folder, libraries))]
    for line in unknown:
        print(line)
    return 1 if unknown else 0


def recorded(package: str, folder: Path, libraries: str) -> list[Case]:
    """Download a package, run its tests, and return the ticks that they calculated."""
    sources = folder / package
    download = ["download", "-q", "--no-deps", "--no-binary", ":all:", "--dest", str(sources), package]
    subprocess.run([*PIP, *download], check=True)
    (archive,) = sources.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(sources, filter="data")
    unpacked = sources / archive.name.removesuffix(".tar.gz")
    file = folder / f"{package}.jsonl"
    path = os.pathsep.join([str(unpacked / "src"), str(unpacked), libraries])
    tests = str(unpacked / PACKAGES[package])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, str(RECORDING), package, tests, str(file)], env=environment, check=True)
    return [json.loads(line) for line in file.read_text().splitlines()]


def compare(package: str, cases: list[Case]) -> list[str]:
    """Print how many ticks agree. Returns the differences that are not named, and the named ones that do not occur."""
    named: Counter[str] = Counter()
    unknown: list[str] = []
    for expression, zone, after, tick in cases:
        if (found := next_tick(expression, zone, after)) == tick:
            continue
        reason = difference(expression) if package == "croniter" else None
        if reason is None:
            unknown.append(f"{package}: {expression!r} in {zone} after {after}: {tick} expected, {found} found")
        else:
            named[reason] += 1
    print(f"{package}: {len(cases)} cases, {len(cases) - named.total() - len(unknown)} agree")
    for reason, number in named.most_common():
        print(f"  {number:4} differ: {reason}")
    if package == "croniter":
        unknown += [f"{package}: no case differs because {reason}" for reason in CRONITER if not named[reason]]
    return unknown


def next_tick(expression: str, zone: str, after: float) -> float | None:
    """Our next tick; None if the expression is refused."""
    try:
        check_cron(expression, zone_of(zone))
    except ValueError:
        return None
    return next(instants(expression, zone_of(zone), duration(after))) / 1e6


if __name__ == "__main__":
    sys.exit(main())
