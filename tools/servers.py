"""Run the conformance cases on every PostgreSQL, Redis and Valkey server of this machine: `python -m tools.servers`.

The servers are those that are installed, those on PATH, and those of the wheels of the extra `dev`. `--list` only
lists them. Other arguments select servers by the beginning of their names, such as `PostgreSQL`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.servers.postgres_binaries import wheel_binaries
from tests.servers.redis import PRODUCTS, Product, wheel_binary

INSTALLED = Path("/usr/lib/postgresql")
TESTS = ["tests/conformance/test_stores.py"]


def main(arguments: list[str]) -> int:
    chosen = {name: each for name, each in servers().items() if name.startswith(tuple(arguments) or "")}
    if "--list" in arguments:
        print("\n".join(servers()))
        return 0
    codes = {name: run(*chosen[name]) for name in chosen}
    return max(codes.values(), default=1)


def servers() -> dict[str, tuple[str, Path]]:
    """The kind and the binary of each server, by its product and version."""
    found = [("postgres", each / "postgres") for each in _postgres()]
    found += [(product, each) for product in PRODUCTS for each in _redis(product)]
    return {_version(binary): (kind, binary) for kind, binary in found}


def run(kind: str, binary: Path) -> int:
    """Run the cases on this server. Returns the exit code."""
    chosen = binary.parent if kind == "postgres" else binary
    environment = {**os.environ, f"HOLDFAST_TEST_{kind.upper()}": str(chosen), "HOLDFAST_EVERY_CASE": "1"}
    begun = time.monotonic()
    tests = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "2", "--dist", "worksteal", *TESTS, "-m", kind]
    code = subprocess.run(tests, env=environment, check=False).returncode
    print(f"{_version(binary)}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - begun:.0f} s")
    return code


def _postgres() -> Iterator[Path]:
    yield from (each for each in sorted(INSTALLED.glob("*/bin")) if (each / "initdb").exists())
    if (on_path := shutil.which("initdb")) is not None:
        yield Path(on_path).resolve().parent
    yield from wheel_binaries()


def _redis(product: Product) -> Iterator[Path]:
    if (on_path := shutil.which(f"{product}-server")) is not None:
        yield Path(on_path)
    if (of_wheel := wheel_binary(product)) is not None:
        yield of_wheel


def _version(binary: Path) -> str:
    """Such as `PostgreSQL 15.14`."""
    text = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"\d+\.\d+(\.\d+)?", text)
    assert number is not None, text
    product = {"postgres": "PostgreSQL", "redis-server": "Redis", "valkey-server": "Valkey"}[binary.name]
    return f"{product} {number[0]}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
