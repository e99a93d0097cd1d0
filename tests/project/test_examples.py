"""Each example is a program that runs as it stands, and says what it should."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.snippets import ROOT
from tests.servers.postgres import fresh_address
from tests.servers.redis import shared_redis

SAYS = {
    "approval": ["Ada may go", "Grace is away for 14 days, approved by Edsger"],
    "fan_in": ["the report is blocked", "sum 23"],
    "middleware": ["greet attempt 1 raised ConnectionError", "returned 'hello Ada, from acme'"],
    "outbox": ["order 2 was rolled back", "order 1 is confirmed", "orders: [(1, 1)]"],
    "periodic": ["a second start finds the first: True", "runs: done, failed, done, done", "ticks left: ['pending']"],
    "request_response": ["the wait ends, the chain goes on", "cents=5997", "failed: Fail: cannot quote 0 pieces"],
}


@pytest.mark.parametrize("name", SAYS)
def test_the_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    assert_says(name, tmp_path)


@pytest.mark.parametrize("address", [fresh_address, lambda: shared_redis().address()], ids=["postgres", "redis"])
def test_a_clock_ticks_on_and_is_pruned_on_every_store(address: Callable[[], str], tmp_path: Path) -> None:
    assert_says("periodic", tmp_path, address())


def test_every_example_is_listed() -> None:
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")}
    listed = (ROOT / "examples/README.md").read_text()

    assert programs >= set(SAYS)
    assert all(f"[{name}.py]({name}.py)" in listed for name in SAYS)


def assert_says(name: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for line in SAYS[name]:
        assert line in done.stdout
