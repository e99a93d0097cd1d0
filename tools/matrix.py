"""Run the test suite on every CPython from 3.11 on that this machine has.

`python -m tools.matrix` runs the whole suite on each of them. `--others` leaves out the interpreter that runs this
program, and runs a selection that needs no server: about a minute for two other interpreters.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

OLDEST, NEWEST = 11, 15
ENVIRONMENTS = Path(".venv-matrix")
SELECTION = [
    "tests/unit", "tests/conformance/test_stores.py", "-m", "not (postgres or redis or valkey or nats)",
    "-k", "not keeps_the_contract or (sync and not async and not sharded)",
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", action="store_true", help="a short selection, on the other interpreters only")
    options = parser.parse_args()
    found = interpreters()
    if options.others:
        found.pop(sys.version_info.minor, None)
    outcomes = {f"3.{minor}": run(found[minor], minor, SELECTION if options.others else []) for minor in sorted(found)}
    for version, (code, seconds) in outcomes.items():
        print(f"Python {version}: {'passed' if code == 0 else 'FAILED'} in {seconds:.0f} s")
    if not outcomes:
        print("There is no other interpreter on this machine.")
    return max((code for code, _ in outcomes.values()), default=0)


def interpreters() -> dict[int, str]:
    """One executable per minor version: from PATH, or from pyenv's folder of versions."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[int, str] = {}
    for minor in range(OLDEST, NEWEST + 1):
        name = f"python3.{minor}"
        candidates = [*filter(None, [shutil.which(name)]), *map(str, sorted(versions.glob(f"3.{minor}.*/bin/{name}")))]
        # A shim of pyenv is on PATH for every version, also for those that it refuses to run.
        if working := [each for each in candidates if _works(each)]:
            found[minor] = working[0]
    return found


def run(executable: str, minor: int, selection: list[str]) -> tuple[int, float]:
    """Run the suite in an environment of its own; the exit code, and the seconds that the tests took."""
    environment = ENVIRONMENTS / f"3.{minor}"
    python = str(environment / "bin" / "python")
    stamp = environment / hashlib.sha256(Path("pyproject.toml").read_bytes()).hexdigest()
    if not stamp.exists():
        subprocess.run([executable, "-m", "venv", "--clear", str(environment)], check=True)
        install = [python, "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check"]
        subprocess.run([*install, "--root-user-action=ignore", "-e", ".[dev]"], check=True)
        stamp.touch()
    begun = time.monotonic()
    tests = [python, "-m", "pytest", "-q", "--numprocesses", "2", "--dist", "worksteal", *selection]
    # A cache of its own: the interpreters would otherwise overwrite each other's list of failures.
    code = subprocess.run([*tests, "-o", f"cache_dir=.pytest_cache/3.{minor}"], check=False).returncode
    return code, time.monotonic() - begun


def _works(executable: str) -> bool:
    return subprocess.run([executable, "-c", ""], check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
