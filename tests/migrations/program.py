"""A worker or a producer of one version: `python -P program.py ROLE ADDRESS LABEL`, with PYTHONPATH naming the version.

A producer starts chains until it gets SIGTERM, and then prints how many. On PostgreSQL each start waits for a lock at
most LOCK_TIMEOUT. Errors end the process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from itertools import count

import psycopg

from holdfast import Attempt, Bound, Client, Jobs, Limit, SyncClient, Worker

LOCK_TIMEOUT = "4s"
"""Twice the time for which a migration waits for a table, and thereby delays other sessions."""

jobs = Jobs()
worker_label = ""


@jobs.job
async def single(producer: str, number: int) -> str:
    return worker_label


@jobs.job
async def begin(producer: str, number: int) -> Bound[str]:
    return end.bind(producer, number)


@jobs.job
async def end(producer: str, number: int) -> str:
    return worker_label


@jobs.job(limits=[Limit("both", 2)])
async def limited(producer: str, number: int) -> str:
    return worker_label


def _label() -> str:
    return worker_label


@jobs.job
async def stepwise(attempt: Attempt, producer: str, number: int) -> str:
    label = await attempt.step("label", _label)
    async with attempt.complete() as done:
        return done.output(label)


TYPES = (single, begin, limited, stepwise)


async def work(address: str) -> None:
    async with Client(address, jobs) as client:
        await Worker(client, concurrency=4, poll_interval=1).run()


def produce(address: str, label: str) -> None:
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    with SyncClient(address, jobs) as client:
        own = psycopg.connect(address, autocommit=True) if address.startswith("postgresql") else None
        for number in count():
            bounds = [each.bind(label, number).options(key=f"{label}-{number}") for each in TYPES]
            if own is None:
                chains = client.start_many(bounds)
            else:
                with own.transaction():
                    own.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'".encode())
                    chains = client.start_many(bounds, tx=own)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            if stopped:
                return
            for chain in chains:  # so that the workers keep up
                client.wait(chain, timeout=60)


if __name__ == "__main__":
    role, address, worker_label = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("holdfast.redis").setLevel(logging.ERROR)  # it warns that the server of the tests writes no file
    # A migration may lock the table for longer than a worker waits without a warning.
    logging.getLogger("holdfast").addFilter(lambda record: "not written within" not in record.getMessage())
    if role == "worker":
        asyncio.run(work(address))
    else:
        produce(address, worker_label)
