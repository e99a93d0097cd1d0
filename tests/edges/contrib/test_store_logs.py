"""StoreLogs: its limits, redaction and child processes."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Attempt, Client, Jobs, StoreUnavailable, Worker
from holdfast.contrib.logging import StoreLogs
from holdfast.contrib.logging.log_buffer import LogBuffer
from holdfast.engine.operations import SaveLogs
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.edges.contrib import logging_jobs

log = logging.getLogger("shop")


@pytest.fixture(autouse=True)
def _info() -> Generator[None]:
    for each in (log, logging_jobs.log):
        each.setLevel(logging.INFO)
    yield
    for each in (log, logging_jobs.log):
        each.setLevel(logging.NOTSET)


@pytest.fixture
async def store() -> AsyncGenerator[MemoryStore]:
    store = MemoryStore()
    await store.open()
    yield store
    await store.close()


async def stored(client: Client, bound: Any, **options: Any) -> str | None:
    """The log of the only attempt of a job."""
    chain = await client.start(bound)
    await drain(client, **options)
    report = await client.report(chain.id)
    assert report is not None
    (attempt,) = report.attempts
    return attempt.log


def record(message: str, **values: Any) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, "levelname": "INFO", "name": "shop", "created": 0.0, **values})


def test_the_newest_lines_are_kept() -> None:
    buffer = LogBuffer(2, 1000, None)
    for number in range(5):
        buffer.add(record(f"line {number}"))

    assert buffer.text().split("\n") == [
        "... 3 earlier lines left out",
        "1970-01-01T00:00:00.000Z INFO shop: line 3",
        "1970-01-01T00:00:00.000Z INFO shop: line 4",
    ]


def test_the_size_is_limited() -> None:
    buffer = LogBuffer(100, 100, None)
    for number in range(5):
        buffer.add(record(f"line {number}"))
    assert len(buffer.text().split("\n", 1)[1]) <= 100

    buffer.add(record("x" * 1000))
    (left_out, line) = buffer.text().split("\n")
    assert left_out == "... 5 earlier lines left out"
    assert len(line) <= 100
    assert " ... " in line


def test_wrong_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        StoreLogs(lines=0)
    with pytest.raises(TypeError, match="redact is a function"):
        StoreLogs(redact="secret")  # type: ignore[arg-type]


async def test_a_text_is_redacted_before_it_is_stored(store: MemoryStore) -> None:
    jobs = Jobs(plugins=[StoreLogs(redact=lambda text: text.replace("secret", "***"))])

    @jobs.job
    async def login() -> None:
        log.info("the password is %s", "secret")

    text = await stored(Client(store, jobs), login.bind())
    assert text is not None
    assert text.endswith("INFO shop: the password is ***")


async def test_an_error_in_redact_leaves_out_the_record(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def broken(text: str) -> str:
        if "secret" in text:
            raise ValueError
        return text

    jobs = Jobs(plugins=[StoreLogs(redact=broken)])

    @jobs.job
    async def login() -> None:
        log.info("a secret")
        log.info("in")

    text = await stored(Client(store, jobs), login.bind())
    assert text is not None
    assert text.endswith("INFO shop: in")
    assert "secret" not in text


async def test_the_log_of_a_child_process_is_stored(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TEST_LOG", str(tmp_path / "log"))
    jobs = Jobs(plugins=[StoreLogs()])
    jobs.include(logging_jobs.jobs)

    text = await stored(Client(store, jobs), logging_jobs.in_a_child.bind())

    assert text is not None
    assert [line.split(": ", 1)[1] for line in text.splitlines()] == ["by logging", "event='by structlog'"]


async def test_two_workers_of_a_process_store_each_line_once(store: MemoryStore) -> None:
    jobs = Jobs(plugins=[StoreLogs()])

    @jobs.job
    async def work() -> None:
        log.info("once")

    client = Client(store, jobs)
    async with Worker(client, types=["work"]):
        pass
    async with Worker(client, poll_interval=0.05), Worker(client, poll_interval=0.05):
        chain = await client.start(work.bind())
        await client.wait(chain, timeout=60)

    report = await client.report(chain.id)
    assert report is not None
    assert report.attempts[0].log is not None
    assert report.attempts[0].log.count("once") == 1
    assert not [each for each in logging.getLogger().handlers if type(each).__name__ == "_BufferHandler"]


@pytest.mark.parametrize("error", [StoreUnavailable("memory", "down"), RuntimeError("the log is too long")])
async def test_a_log_that_cannot_be_stored_does_not_prevent_the_settlement(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    perform = store.perform
    failures = 0

    async def failing(operation: Any) -> Any:
        nonlocal failures
        if isinstance(operation, SaveLogs) and failures == 0:
            failures += 1
            raise error
        return await perform(operation)

    monkeypatch.setattr(store, "perform", failing)
    jobs = Jobs(plugins=[StoreLogs()])

    @jobs.job
    async def work(attempt: Attempt) -> int:
        log.info("done")
        return 1

    client = Client(store, jobs)
    text = await stored(client, work.bind())

    assert failures == 1
    # After an outage both are sent again.
    assert (text is not None) == isinstance(error, StoreUnavailable)
