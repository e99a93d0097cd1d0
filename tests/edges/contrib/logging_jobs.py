"""Job types that log, for child processes: these import this module, and configure their logs by it."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import structlog

from holdfast import Attempt, Fail, Jobs, Retry
from holdfast.contrib.logging import JobFilter

jobs = Jobs()
log = logging.getLogger("tests.logging_jobs")


def configure(path: Path) -> None:
    """Append the records of both libraries to a file."""
    handler = logging.FileHandler(path)
    handler.addFilter(JobFilter())
    handler.setFormatter(logging.Formatter("%(process)d %(job_id)s %(chain_id)s %(job_type)s %(attempt)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.KeyValueRenderer(sort_keys=True)],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def unconfigure() -> None:
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()


if (file := os.environ.get("HOLDFAST_TEST_LOG")) is not None:
    configure(Path(file))


def write() -> None:
    log.info("by logging")
    structlog.get_logger("tests.logging_jobs").warning("by structlog")


@jobs.job
async def on_the_loop() -> None:
    await asyncio.create_task(_later())


async def _later() -> None:
    write()


@jobs.job
def in_a_thread() -> None:
    write()


@jobs.job(executor="process")
def in_a_child() -> None:
    write()


@jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=2))
async def broken(attempt: Attempt) -> None:
    raise ValueError(f"broken {attempt.job.attempt}")


@jobs.job
def refusing() -> None:
    raise Fail("refused")
