"""What an input that no handler of this worker accepts means for its job. Pure: no clock, no I/O."""

from __future__ import annotations

from holdfast.core.clock import SECOND, Micros, duration
from holdfast.core.failure import describe
from holdfast.core.lifecycle import Settlement
from holdfast.core.permanent_failure import fail
from holdfast.core.record import Record, Status
from holdfast.core.retry import Retry
from holdfast.errors import PayloadRefused

SHORTEST_MISMATCH_DELAY = Retry(initial=0.1, multiplier=2, maximum=5, jitter=0)
"""The minimum delay after a mismatch. Without it, a type with a short `Retry` would be claimed in a busy loop."""


def settle_mismatch(job: Record, error: PayloadRefused, retry: Retry, timeout: Micros) -> Settlement:
    """Try again after the delay of the n-th failure, where n counts the mismatches in a row. Fail after the timeout.

    The times of the first mismatch and of this claim come from the store. The last delay ends with the timeout.
    """
    begun = job.started_at or 0
    left = timeout if job.mismatched_at is None else job.mismatched_at + timeout - begun
    if left <= 0:
        refused = PayloadRefused(f"{error}. No worker accepted it within {timeout / SECOND:g} s (mismatch_timeout)")
        return fail(job, describe(refused), outcome="mismatched")
    number = (job.mismatches or 0) + 1
    delay = duration(max(retry.delay(number), SHORTEST_MISMATCH_DELAY.delay(number)))
    # Not the error itself: its class may be private, and its traceback contains only the engine.
    stored = describe(PayloadRefused(str(error)))
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=min(delay, left))
