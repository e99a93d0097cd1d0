"""What an error that a handler raised means for its attempt."""

from __future__ import annotations

import asyncio
from typing import cast, get_args

from holdfast.core.failure import readable
from holdfast.core.lifecycle import Mismatched, Raised, SuspendedFor
from holdfast.engine.interruption import is_ctrl_c
from holdfast.engine.operations import LostReason
from holdfast.errors import ClaimLost
from holdfast.worker.attempt_run import RELEASED_LATER, AttemptRun
from holdfast.worker.held_claims import HeldClaim
from holdfast.worker.mismatch import InputMismatch
from holdfast.worker.steps.suspended import is_suspension


def note_error(held_claim: HeldClaim, run: AttemptRun, error: BaseException) -> None:
    """Write the outcome to `run`, or the interrupt that ends the worker."""
    error = readable(error)
    match error:
        case asyncio.CancelledError():
            # Without an abort, the handler awaited a task that was cancelled: that is an ordinary error.
            run.outcome = RELEASED_LATER if held_claim.signal.aborted else Raised(error)
        case ClaimLost():
            held_claim.signal.fire(cast("LostReason", error.reason))
            # A call that an abort interrupted raises ClaimLost too. After a shutdown or a timeout the claim is valid.
            run.outcome = None if error.reason in get_args(LostReason) else RELEASED_LATER
        case InputMismatch():
            run.outcome = Mismatched(error.refusal)
        case _ if run.call is not None and run.call.steps.suspended and is_suspension(error):
            run.outcome = SuspendedFor(run.call.steps.log.waits)
        # Only Ctrl-C ends the worker. A handler that raises SystemExit, for example, has failed.
        case _ if held_claim.options.type.is_async and is_ctrl_c(error):
            run.interrupt = error
        case _:
            run.outcome = Raised(error)
