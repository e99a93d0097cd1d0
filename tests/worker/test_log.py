"""The log: its fields and levels, without payloads, and with a limit for repeated errors."""

from __future__ import annotations

import logging

import pytest

from holdfast import Fail
from holdfast.engine.observers import LOG_INTERVAL, Observers
from tests.worker.harness import WorkerHarness


async def test_the_log_has_fields_and_no_payloads(harness: WorkerHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="holdfast")

    @harness.jobs.job
    async def secretive(password: str) -> str:
        if password == "hunter2":
            return "the secret output"
        raise Fail("with its own text")

    chains = [await harness.start(secretive.bind(password)) for password in ("hunter2", "hunter3")]
    async with harness.worker(worker_id="me"):
        for chain in chains:
            await harness.ended(chain)
    await harness.client.cancel(chains[0])

    records = [record for record in caplog.records if record.name == "holdfast"]
    completed = next(record for record in records if record.__dict__.get("holdfast_event") == "completed")
    assert completed.levelno == logging.INFO
    assert completed.__dict__["holdfast_job_id"] == chains[0].id
    assert completed.__dict__["holdfast_chain_id"] == chains[0].id
    assert completed.__dict__["holdfast_type"] == "secretive"
    assert completed.__dict__["holdfast_attempt"] == 1
    assert completed.__dict__["holdfast_worker"] == "me"
    assert completed.__dict__["holdfast_duration"] >= 0
    failed = next(record for record in records if record.__dict__.get("holdfast_event") == "failed")
    assert (failed.levelno, failed.__dict__["holdfast_error"]) == (logging.ERROR, "Fail: with its own text")
    everything = " ".join(f"{record.getMessage()} {record.__dict__}" for record in records)
    assert "hunter" not in everything
    assert "secret output" not in everything
    assert repr(secretive.bind("hunter2")) == "<Bound secretive>"
    assert "hunter" not in repr(chains[0]) + repr(await harness.job(chains[0]))


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("claimed", "DEBUG"),
        ("completed", "INFO"),
        ("retrying", "WARNING"),
        ("store_error", "WARNING"),
        ("failed", "ERROR"),
    ],
)
def test_each_kind_has_its_level(kind: str, level: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="holdfast")

    Observers().emit(kind, worker="me")

    assert [(record.levelname, record.message) for record in caplog.records] == [(level, f"{kind} worker=me")]


def test_data_cannot_forge_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="holdfast")

    Observers().emit("created", job_id="one\ncompleted job_id=two", detail="\x1b[2J")

    assert [record.message for record in caplog.records] == [
        "created job_id='one\\ncompleted job_id=two' detail='\\x1b[2J'"
    ]
    assert caplog.records[0].__dict__["holdfast_job_id"] == "one\ncompleted job_id=two"


def test_events_without_an_observer_are_not_built(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="holdfast")

    assert not Observers().wants("failed")
    assert Observers([lambda event: None]).wants("renewed")


def test_a_repeated_error_is_logged_once_a_minute_and_emitted_every_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.engine.observers.monotonic", lambda: now)
    received: list[str | None] = []
    observers = Observers([lambda event: received.append(event.detail)])

    for detail in ("away", "away", "no tables", "away"):
        observers.emit("store_error", worker="me", detail=detail)
    now += LOG_INTERVAL
    observers.emit("store_error", worker="me", detail="away")

    assert received == ["away", "away", "no tables", "away", "away"]
    assert [record.message.partition("detail=")[2] for record in caplog.records] == ["away", "no tables", "away"]
