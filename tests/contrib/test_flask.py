"""Flask: starts in the session of a request, the inline worker, the commands, and the routes of a job type."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import create_engine, text
from sqlalchemy.orm import scoped_session, sessionmaker

from holdfast import Client, Jobs, SyncClient, Worker
from holdfast.contrib.flask import Holdfast, SyncStarter
from tests.contrib.flask_app import create_app, holdfast, label
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def app(tmp_path: Path) -> Generator[Flask]:
    yield create_app(f"sqlite:///{tmp_path}/shop.db")
    holdfast.close()


def test_a_start_commits_with_the_session(app: Flask, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/shop.db")
    session = scoped_session(sessionmaker(engine))
    with app.app_context():
        session.execute(text("create table orders (number integer)"))
        session.commit()

        holdfast.starter(session).start(label.bind(1))
        session.rollback()
        holdfast.starter(session).start_many([label.bind(2), label.bind(3)])
        session.commit()

        found = holdfast.client.list_chains().items
        assert sorted(chain.first_job.input["number"] for chain in found) == [2, 3]
        with pytest.raises(TypeError, match="session"):
            SyncStarter(holdfast.client, None)  # type: ignore[arg-type]
    session.remove()
    engine.dispose()


def test_the_routes_of_a_job_type_start_read_follow_and_cancel(app: Flask) -> None:
    http = app.test_client()

    started = http.post("/approval", json={"number": 1})

    assert started.status_code == 202
    where = started.headers["Location"]
    assert json.loads(http.get(where).text)["status"] == "pending"
    assert http.get(where.replace("approval", "label")).status_code == 404
    assert http.post("/label", json={"numbr": 1}).status_code == 422
    assert http.post("/label", data='{"number": 1}').status_code == 415  # a form of another site
    assert http.post("/label", data=b" " * 2**21, content_type="application/json").status_code == 413
    assert json.loads(http.delete(where).text)["status"] == "cancelled"
    assert http.delete("/approval/unknown").status_code == 404
    assert http.get("/approval/unknown/events").status_code == 404
    assert http.get(f"{where}/events").text.count("event: ") == 1
    where = http.post("/stepwise", json={"parts": 3}).headers["Location"]
    with holdfast.running(app, worker=True):
        followed = http.get(f"{where}/events")
        assert followed.mimetype == "text/event-stream"
        parts = followed.text.split("\n\n")[:-1]
    messages = [dict(line.split(": ", 1) for line in each.splitlines()) for each in parts]
    assert messages[0]["event"] == "status"
    assert json.loads(messages[-1]["data"])["output"] == 3


def test_the_inline_worker_runs_handlers_in_the_application_and_ends_with_the_block(app: Flask) -> None:
    def make(client: Client) -> Worker:
        return Worker(client, concurrency=2, worker_id="inline")

    with holdfast.running(app, worker=make) as client:
        assert client.run(label.bind(7), timeout=30) == "label 7 of shop"
        # The row is written beside the first claims: a fast first job may end before it.
        wait_until(lambda: [worker.id for worker in client.workers()] == ["inline"])
    with app.app_context():
        assert holdfast.client.workers() == []
    with holdfast.running(app) as client:
        assert isinstance(client, SyncClient)
    with (
        pytest.raises(ValueError, match="concurrency"),
        holdfast.running(app, worker=lambda client: Worker(client, concurrency=0)),
    ):
        pytest.fail("the worker cannot be made")


def test_a_missing_store_and_a_missing_extension_are_named() -> None:
    with pytest.raises(TypeError, match="which job types"):
        Holdfast(Flask("shop"))
    app = Flask("shop")
    extension = Holdfast(app, Jobs())
    with app.app_context(), pytest.raises(RuntimeError, match="HOLDFAST_STORE"):
        _ = extension.client
    result = Flask("other").test_cli_runner().invoke(args=["holdfast", "status"])
    assert "No such command" in result.output


def test_the_commands_use_the_store_and_the_job_types_of_the_application(tmp_path: Path) -> None:
    environment = {**os.environ, "SHOP_STORE": f"sqlite:///{tmp_path}/shop.db", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-m", "flask", "--app", "tests.contrib.flask_app", "holdfast"]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("migrate")
    for name, number in (("worker", "4"), ("supervise", "5")):
        process = subprocess.Popen([*command, name], cwd=tmp_path, env=environment)
        try:
            output = run("start", "label", "--input", f'{{"number": {number}}}', "--wait", "--timeout", "30s")
            assert f"label {number} of shop" in output
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    assert json.loads(run("status", "--json"))["counts"]["completed"] == 2
