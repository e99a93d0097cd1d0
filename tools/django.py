"""Test the Django integration on every pair of interpreter and Django that this machine offers.

`python -m tools.django` makes an environment for each pair, with pip, and runs all tests of the integration in it:
those of the suite, those that start processes, the example, and Django's own tests of tasks, whose source
distribution pip downloads. `python -m tools.django 3.12` runs one of them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

from tools.matrix import interpreters

ENVIRONMENTS = Path(".venv-django")
SOURCES = ENVIRONMENTS / "sources"
PAIRS = {11: "Django>=5.2,<6", 12: "Django>=6.0,<6.1"}
"""The Django of an interpreter: 5.2 is the last one for Python 3.11. The others have the newest."""
NEWEST = "Django>=6.1"
TESTS = ["tests/contrib/django", "tests/stores/sqlite/test_django.py"]


def main(wanted: list[str]) -> int:
    found = {minor: each for minor, each in interpreters().items() if not wanted or f"3.{minor}" in wanted}
    outcomes = {minor: run(found[minor], minor) for minor in sorted(found)}
    for minor, (code, seconds) in outcomes.items():
        outcome = "passed" if code == 0 else "FAILED"
        print(f"Python 3.{minor} with {PAIRS.get(minor, NEWEST)}: {outcome} in {seconds:.0f} s")
    if not outcomes:
        print("There is no such interpreter on this machine.")
        return 1
    return max(code for code, _ in outcomes.values())


def run(executable: str, minor: int) -> tuple[int, float]:
    """Run the tests in an environment of their own; the exit code, and the seconds that the tests took."""
    environment, requirement = ENVIRONMENTS / f"3.{minor}", PAIRS.get(minor, NEWEST)
    python = str(environment / "bin" / "python")
    needed = Path("pyproject.toml").read_bytes() + requirement.encode()
    stamp = environment / hashlib.sha256(needed).hexdigest()
    if not stamp.exists():
        subprocess.run([executable, "-m", "venv", "--clear", str(environment)], check=True)
        install = [python, "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check"]
        subprocess.run([*install, "--root-user-action=ignore", "-e", ".[dev]", requirement], check=True)
        stamp.touch()
    SOURCES.mkdir(exist_ok=True)
    begun = time.monotonic()
    code = subprocess.run(
        [
            python,
            "-m",
            "pytest",
            "-q",
            "--numprocesses",
            "2",
            "-o",
            f"cache_dir=.pytest_cache/django-3.{minor}",
            *TESTS,
        ],
        env={**os.environ, "HOLDFAST_DJANGO": "1", "HOLDFAST_SOURCES": str(SOURCES.absolute())},
        check=False,
    ).returncode
    return code, time.monotonic() - begun


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
