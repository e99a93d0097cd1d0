"""Job types with limits, rates, orders and failure hooks, and a schedule. The checker knows the numbers from here."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from holdfast import Fail, Failure, Jobs, Limit, Order, Rate, Retry

flow = Jobs()

AT_ONCE = 2
RATE = 20
BURST = 5
BEAT = "beat"
EVERY = 0.25
"""Seconds between two ticks of the schedule."""
SOON = Retry(initial=0.05, jitter=0, max_attempts=3)
HOOKED = ("fragile", "gather", "poison")
"""The types with a failure hook."""
LANED = ("render", "serve", "meter", "ordered")
"""The types with lanes. The order of their claims depends on their lanes."""


@flow.job(retry=SOON, limits=[Limit("render", AT_ONCE)])
async def render(seconds: float) -> None:
    """At most two run at once."""
    await asyncio.sleep(seconds)


@flow.job(retry=SOON, limits=[Limit("serve", 1, by="tenant")])
async def serve(tenant: str, seconds: float) -> None:
    """At most one per tenant runs at once."""
    await asyncio.sleep(seconds)


@flow.job(retry=SOON, limits=[Rate("meter", RATE, per=1, burst=BURST)])
async def meter() -> None:
    """Twenty attempts per second, five at once."""


@flow.job(retry=SOON, limits=[Order("account", by="account", on_failure="skip")])
async def ordered(account: str, seconds: float) -> None:
    """One at a time per account, in the order of their start."""
    await asyncio.sleep(seconds)
    if seconds > 0.09:
        raise ValueError("as planned")


@flow.job(retry=SOON)
async def note_failure(failure: Failure) -> None:
    """The failure hook of HOOKED."""
    if failure.type not in HOOKED:
        raise Fail(f"a hook for {failure.type}")


@flow.job(retry=SOON, on_failure=note_failure)
async def fragile(at_once: bool) -> None:
    """Fails, at once or after all attempts."""
    if at_once:
        raise Fail("as planned")
    raise ValueError("as planned")


@flow.job(retry=SOON, keep=timedelta(hours=1))
async def beat() -> None:
    """The job of the schedule."""


flow.schedule(BEAT, beat.bind(), every=EVERY, overlap="allow", missed="all")
