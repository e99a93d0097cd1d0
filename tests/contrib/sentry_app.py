"""An application with Sentry, in its own process, since `sentry_sdk.init` changes the interpreter. Prints envelopes."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from holdfast import Attempt, Client, Event, Fail, Jobs, Reschedule, Retry
from holdfast.contrib.sentry import Sentry
from holdfast.contrib.structlog import Structlog
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain

envelopes: list[dict[str, Any]] = []


class Kept(Transport):
    """Keeps what would be sent."""

    def capture_envelope(self, envelope: Envelope) -> None:
        sent = [(item.type, item.payload.json) for item in envelope.items]
        envelopes.extend({"item": kind, **content} for kind, content in sent if content is not None)


sentry_sdk.init(dsn="https://key@sentry.example/1", transport=Kept, traces_sample_rate=1.0)
logging.basicConfig(level=logging.ERROR, stream=sys.stderr)

sentry = Sentry(final_failures_only="--every-attempt" not in sys.argv)
# Structlog writes the traceback of a failure instead of the logger that Sentry's logging integration reads.
jobs = Jobs(plugins=[sentry, Structlog()] if "--structlog" in sys.argv else [sentry])


def charge_card(order: int) -> None:
    raise ConnectionError(f"no answer for order {order}")


@jobs.job(retry=Retry(initial=1, max_attempts=3))
async def charge(order: int) -> None:
    logging.getLogger("shop").info("charging")
    sentry_sdk.add_breadcrumb(message="asked the bank")
    charge_card(order)


@jobs.job(retry=Retry(max_attempts=1))
def charge_in_thread(order: int) -> None:
    charge_card(order)


@jobs.job(retry=Retry(max_attempts=1))
async def reported(order: int) -> None:
    try:
        charge_card(order)
    except ConnectionError as error:
        sentry_sdk.capture_exception(error)
        raise


@jobs.job
async def decided(attempt: Attempt) -> None:
    if attempt.job.attempt == 1:
        raise Reschedule(1)
    raise Fail("no such order")


@jobs.job
async def fine() -> None: ...


async def main(name: str) -> None:
    seen: list[Event] = []
    client = Client(MemoryStore(clock=ManualClock()), jobs, observers=[seen.append])
    job_type = jobs[name]
    arguments = {"order": 7} if name not in ("decided", "fine") else {}
    with sentry_sdk.start_transaction(op="http.server", name="POST /orders"):
        chain = await client.start(job_type.bind(**arguments))
    await drain(client, advance=True)
    sentry_sdk.flush()
    sys.stdout.write(json.dumps({"chain": chain.id, "envelopes": envelopes}, default=str))


asyncio.run(main(sys.argv[1]))
