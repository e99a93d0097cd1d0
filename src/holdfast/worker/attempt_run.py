"""The state of one attempt in a worker, and what an abort means for its outcome."""

from __future__ import annotations

import asyncio

import msgspec

from holdfast.core.lifecycle import Outcome, Raised, Released, Settlement
from holdfast.worker.abort_signal import AbortReason
from holdfast.worker.handler_call import Call

RELEASED = Released()
RELEASED_LATER = Released(begun=True)


class AttemptTimeout(Exception):
    """The attempt took longer than its timeout."""


class LeaseInDanger(Exception):
    """The lease could not be renewed in time. The attempt was aborted before another worker could claim the job."""


class AttemptRun(msgspec.Struct, eq=False):
    """The state of one attempt. Each stage of the runner writes here what the next stage reads."""

    task: asyncio.Task[None]
    call: Call | None = None
    timeout: float | None = None
    outcome: Outcome | None = RELEASED
    """None if the claim is lost."""
    settlement: Settlement | None = None
    interrupt: BaseException | None = None
    """A KeyboardInterrupt of Ctrl-C that was raised while the handler ran."""


def aborted(reason: AbortReason | None, outcome: Outcome, timeout: float | None) -> Outcome | None:
    """The outcome of an attempt that was aborted for this reason. None if the claim is lost."""
    match reason:
        case "shutdown":
            return outcome
        case "error" if outcome is RELEASED:  # the handler was not called
            return outcome
        case "timeout":
            return Raised(AttemptTimeout(f"the attempt took longer than {timeout:g} s"))
        case "error":
            return Raised(LeaseInDanger("the lease could not be renewed in time"))
        case _:
            return None
