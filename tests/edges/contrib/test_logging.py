"""The current job in log records, with standard logging and with structlog."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from holdfast import Client, Jobs
from holdfast.contrib.logging import JobFilter
from holdfast.contrib.structlog import Structlog
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.edges.contrib import logging_jobs
from tests.edges.contrib.logging_jobs import broken, in_a_child, in_a_thread, log, on_the_loop, refusing


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    jobs = Jobs(plugins=[Structlog()])
    jobs.include(logging_jobs.jobs)
    async with Client(MemoryStore(), jobs) as client:
        await client.store.open()
        yield client


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    path = tmp_path / "log"
    monkeypatch.setenv("HOLDFAST_TEST_LOG", str(path))  # for the child process
    logging_jobs.configure(path)
    yield path
    logging_jobs.unconfigure()


@pytest.mark.parametrize("job_type", [on_the_loop, in_a_thread, in_a_child], ids=lambda each: each.name)
async def test_the_records_of_a_handler_contain_its_job(client: Client, file: Path, job_type: Any) -> None:
    first, second = await client.start_many([job_type.bind(), job_type.bind()])
    await drain(client)
    log.info("outside")

    *lines, outside = file.read_text().splitlines()  # noqa: ASYNC240 - a small file
    name = job_type.name
    expected: list[str] = []
    for chain in (first, second):
        keys = f"{chain.id} {chain.id} {name} 1"
        expected.append(f"{keys}: by logging")
        expected.append(
            f"{keys}: attempt=1 chain_id={chain.id!r} event='by structlog' job_id={chain.id!r} job_type={name!r}"
        )
    assert [line.split(" ", 1)[1] for line in lines] == expected
    assert outside.split(" ", 1)[1] == "None None None None: outside"
    in_children = {line.split(" ", 1)[0] for line in lines} != {str(os.getpid())}
    assert in_children == (name == "in_a_child")


async def test_the_attempt_number_is_that_of_the_current_attempt(client: Client) -> None:
    seen: list[tuple[object, ...]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((record.job_type, record.attempt, record.exc_info is not None))  # type: ignore[attr-defined]

    handler = Keep()
    handler.addFilter(JobFilter())
    logger = logging.getLogger("holdfast")
    logger.addHandler(handler)
    try:
        other = Jobs()
        other.include(logging_jobs.jobs)
        plain = Client(client.store, other)
        await plain.start(broken.bind())
        await drain(plain)
    finally:
        logger.removeHandler(handler)

    about = [each for each in seen if each[0] == "broken"]
    assert [each for each in about if each[2]] == [("broken", 1, True), ("broken", 2, True)]


async def test_each_failed_attempt_logs_its_traceback_once(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    chain = await client.start(broken.bind())
    with capture_logs() as entries:
        await drain(client)

    assert [(entry["event"], entry["attempt"], entry["job_id"]) for entry in entries] == [
        ("attempt retrying", 1, chain.id),
        ("attempt failed", 2, chain.id),
    ]
    assert [str(entry["exc_info"][1]) for entry in entries] == ["broken 1", "broken 2"]
    # The standard log leaves the traceback to structlog.
    assert [record.exc_info for record in caplog.records if record.levelno >= logging.WARNING] == [None, None]


async def test_without_structlog_the_standard_log_has_the_traceback_once(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(MemoryStore(), logging_jobs.jobs) as client:
        await client.store.open()
        await client.start(refusing.bind())
        await drain(client)

    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.exc_info is not None
    assert record.levelno == logging.ERROR
    assert record.exc_info[2] is not None
    assert record.exc_info[2].tb_frame.f_code.co_name == "refusing"


async def test_a_plugin_of_an_included_registry_leaves_other_tracebacks_to_the_standard_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner, outer = Jobs(plugins=[Structlog()]), Jobs()

    @inner.job
    async def mine() -> None:
        raise ValueError("mine")

    @outer.job
    async def others() -> None:
        raise ValueError("others")

    outer.include(inner)
    async with Client(MemoryStore(), outer) as client:
        await client.store.open()
        await client.start_many([mine.bind(), others.bind()])
        with capture_logs() as entries:
            await drain(client)

    assert [str(entry["exc_info"][1]) for entry in entries] == ["mine"]
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["others"]


def test_a_given_value_is_kept() -> None:
    record = logging.makeLogRecord({"job_id": "given"})

    assert JobFilter().filter(record)

    assert (record.job_id, record.job_type) == ("given", None)  # type: ignore[attr-defined]


def test_holdfast_imports_no_plugin() -> None:
    program = (
        "import sys, holdfast\n"
        "loaded = [name for name in sys.modules if name.startswith('holdfast.contrib') or name == 'structlog']\n"
        "assert not loaded, loaded"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys\n"
        "sys.modules['structlog'] = None\n"
        "try:\n"
        "    import holdfast.contrib.structlog\n"
        "except ImportError as error:\n"
        '    assert "with its extra [structlog]" in str(error), error\n'
        "else:\n"
        "    raise AssertionError\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture(autouse=True)
def _reset_structlog() -> None:
    structlog.reset_defaults()
