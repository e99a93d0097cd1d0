"""`holdfast demo`, with fewer customers: it kills a process, and checks its own result."""

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from holdfast import SyncClient
from holdfast.demo.jobs import jobs
from holdfast.demo.ledger import ENTER, SCHEMA, open_shop
from holdfast.demo.shop import place_orders
from holdfast.demo.summary import summary
from holdfast.demo.verdict import Verdict, judge
from tests.waiting import TIMEOUT, wait_until


def test_the_demo_shows_a_killed_worker_s_jobs_recovered(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holdfast.cli", "demo", "--customers", "4", "--json"]

    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)

    verdict = json.loads(answer.stdout)
    assert (answer.returncode, verdict["wrong"]) == (0, [])
    assert verdict["chains"] == verdict["completed"] == 76
    assert verdict["recovered"] == verdict["held_when_killed"] > 0
    assert (verdict["lost"], verdict["committed_twice"]) == (0, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_stopped_leaves_no_process_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "holdfast.cli", "demo", *(["--dashboard"] if number == signal.SIGTERM else [])]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOLDFAST_WAKEUPS": "redis://localhost:1"}

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        if number == signal.SIGTERM:
            url = next(line for line in demo.stdout if "dashboard on " in line).split()[-1]
            assert "read-only" in httpx.get(url, timeout=TIMEOUT).text
        assert any("two worker processes" in line for line in demo.stdout)
        (folder,) = tmp_path.iterdir()
        demo.send_signal(number)
        demo.communicate(timeout=TIMEOUT)

    assert demo.returncode == 128 + number
    assert not folder.exists()
    wait_until(lambda: not any(str(folder).encode() in _read(each) for each in Path("/proc").glob("[0-9]*/cmdline")))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


def test_a_double_commit_and_a_lost_job_would_not_go_unseen(tmp_path: Path) -> None:
    with SyncClient(f"sqlite:///{tmp_path}/shop.db", jobs) as client:
        shop = open_shop(tmp_path / "shop.db")
        shop.executescript(SCHEMA)
        started = place_orders(client, shop, customers=1)
        for _ in range(2):
            shop.execute(ENTER, [started.orders[0].id, "charge", 0, 1])
        shop.execute(ENTER, ["missing", "charge", 0, 1])

        verdict = judge(client, shop, started, held=[])
        shop.close()

    assert not verdict.passed
    assert verdict.committed_twice == 1
    assert verdict.lost == 19
    assert any("belong to no job" in complaint for complaint in verdict.wrong)
    assert any("shows nothing" in complaint for complaint in verdict.wrong)


def test_orders_and_chains_are_placed_together_or_not_at_all(tmp_path: Path) -> None:
    with SyncClient(f"sqlite:///{tmp_path}/shop.db", jobs) as client:
        shop = open_shop(tmp_path / "shop.db")
        shop.executescript(SCHEMA)
        shop.execute("insert into orders values (20, 0, 1)")  # the number of the second customer's order is taken

        with pytest.raises(sqlite3.IntegrityError):
            place_orders(client, shop, customers=2)
        shop.rollback()

        assert not client.list_chains().items
        shop.close()


def test_a_verdict_that_is_not_passed_says_what_is_wrong() -> None:
    console = Console(width=80, file=io.StringIO())

    with console.capture() as shown:
        console.print(summary(Verdict(wrong=["3 jobs are lost"])))

    assert "3 jobs are lost" in shown.get()
