"""Each example runs as a program without changes, and prints the expected lines."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.snippets import ROOT
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis

SAYS = {
    "dashboard_django": [
        "ASGI, ada: 200, sees the job: True",
        "ASGI, guest: 403, sees the job: False",
        "WSGI, ada: 200, sees the job: True, live: False",
    ],
    "dashboard_fastapi": ["ada: 200, sees Grace", "guest: 200, sees (input hidden)", "cancels: 403"],
    "dashboard_litestar": ["workers: 200, links below /jobs: True", "without a user: 403"],
    "dashboard_starlette": ["cancelled, then /ops/jobs/chains", "audit: ada cancel"],
    "agent": [
        "Take an umbrella: rain from noon; lunch outside at 12",
        "attempts: 2",
        "'model': 3, 'weather': 1, 'calendar': 1",
    ],
    "approval": ["Ada may go", "Grace is away for 14 days, approved by Edsger"],
    "crawler": ["visited 50 pages", "repeated after the crash: 6"],
    "fan_in": ["the report is blocked", "sum 23"],
    "middleware": ["greet attempt 1 raised ConnectionError", "returned 'hello Ada, from acme'"],
    "order_steps": [
        "It waits for the message `label-printed`",
        "payment-1, label A-17, attempt 2",
        "payments: 1 reservations: 1",
    ],
    "outbox": ["order 2 was rolled back", "order 1 is confirmed", "orders: [(1, 1)]"],
    "periodic": ["runs: done, failed, done, done", "one chain per tick: True", "the last one: True"],
    "request_response": ["the wait ends, the chain continues", "cents=5997", "failed: Fail: cannot quote 0 pieces"],
}


@pytest.mark.parametrize("name", SAYS)
def test_the_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    assert_says(name, tmp_path)


@pytest.mark.parametrize("address", [fresh_address, lambda: shared_redis().address()], ids=["postgres", "redis"])
def test_a_schedule_ticks_on_every_store(address: Callable[[], str], tmp_path: Path) -> None:
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
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for line in SAYS[name]:
        assert line in done.stdout
