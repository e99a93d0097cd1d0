"""Run tests with the oldest release of every dependency that pyproject.toml allows.

Without arguments, these are the tests that call the dependencies: units, conformance, integrations, commands and
dashboard. `--all` adds the tests of workers and of single stores. Other arguments are passed to pytest.

The environment is created again when pyproject.toml changes. Development tools keep their newest releases.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ENVIRONMENT = Path(".venv-lowest")
SELECTION = ["tests/unit", "tests/conformance", "tests/contrib", "tests/edges", "tests/dashboard"]
REST = ["tests/worker", "tests/stores"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the tests of workers and of single stores")
    options, given = parser.parse_known_args(arguments)
    python = str(ENVIRONMENT / "bin" / "python")
    text = Path("pyproject.toml").read_bytes()
    stamp = ENVIRONMENT / hashlib.sha256(text).hexdigest()
    if not stamp.exists():
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--root-user-action=ignore"]
        subprocess.run([*install, "-e", ".[dev]", *lowest(text.decode())], check=True)
        stamp.touch()
    selection = given or [*SELECTION, *(REST if options.all else [])]
    tests = [python, "-m", "pytest", "-q", "--numprocesses", "2", "--dist", "worksteal", *selection]
    return subprocess.run(tests, check=False).returncode


NEWEST = {"opentelemetry-api"}
"""Left at the newest release: the package of conventions, with which the tests compare, needs exactly that one."""


def lowest(text: str) -> list[str]:
    """Requirements such as `msgspec==0.19.*` for the dependencies and the extras, without `dev`."""
    project = tomllib.loads(text)["project"]
    extras = [
        each
        for name, needs in project["optional-dependencies"].items()
        if name not in ("dev", "docs")
        for each in needs
    ]
    return [pinned for each in [*project["dependencies"], *extras] if (pinned := _lowest(each)) is not None]


def _lowest(requirement: str) -> str | None:
    found = re.fullmatch(r"([A-Za-z0-9_.\[\]-]+)>=([0-9.]+)(?:,.*)?", requirement)
    if found is None:
        return None
    name, version = found.groups()
    if name in NEWEST:
        return None
    parts = version.split(".")
    return f"{name}=={version}" if len(parts) > 2 else f"{name}=={'.'.join([*parts, '0'][:2])}.*"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
