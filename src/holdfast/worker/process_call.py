"""The call of a handler in a child process."""

from __future__ import annotations

import asyncio
import pickle
from functools import partial
from typing import Any

from holdfast.core.lifecycle import Settlement
from holdfast.engine.operations import Settled
from holdfast.engine.store import SyncTransaction
from holdfast.errors import ClaimLost, HoldfastError
from holdfast.registry.extensions import methods_of
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.completion_rules import CompletionState, progress_of
from holdfast.worker.held_claims import HeldClaim
from holdfast.worker.process_replies import SuspendedInChild
from holdfast.worker.processes import Processes
from holdfast.worker.steps.child_steps import AttemptInChild, StepReply, StepRequest
from holdfast.worker.sync_attempt import SyncAttempt


class ProcessCall:
    """A plain handler, in a child process. Its attempt there has steps, but no transactions."""

    def __init__(self, parts: AttemptParts, held_claim: HeldClaim, processes: Processes) -> None:
        self.completion: CompletionState[SyncTransaction] = parts.completion
        self.steps = parts.steps
        # The middlewares run in this process and use this attempt.
        self.attempt = SyncAttempt(parts, loop=asyncio.get_running_loop())
        self._held_claim = held_claim
        self._store = parts.store
        self._jobs = parts.jobs
        self._processes = processes

    async def run(self) -> Any:
        takes_attempt, loop = self._held_claim.type.takes_attempt, asyncio.get_running_loop()
        try:
            value = await self._processes.call(
                self._held_claim, self.attempt.child_notes, self._contexts(),
                attempt=self._described() if takes_attempt else None,
                answer_step=partial(self._answer_step, loop),
            )  # fmt: skip
        except SuspendedInChild as suspended:
            self.steps.log.adopt_suspension(suspended.waits)
            raise
        self.completion.check_return(value)
        return value

    def _described(self) -> bytes:
        """The pickled description of the attempt, for the child."""
        return pickle.dumps(AttemptInChild(self._held_claim.record, self.steps.now(), self.attempt.blockers))

    def _answer_step(self, loop: asyncio.AbstractEventLoop, request: StepRequest) -> StepReply:
        """Answer the request of a step in the child. Called in the thread that reads from the child."""
        try:
            answer = asyncio.run_coroutine_threadsafe(self._perform_step(request), loop).result()
        except asyncio.CancelledError:
            return StepReply(request.number, error=ClaimLost(self._held_claim.record.id, "shutdown"))
        except Exception as error:
            return StepReply(request.number, error=_sendable(error))
        return StepReply(request.number, answer)

    async def _perform_step(self, request: StepRequest) -> Any:
        match request.kind:
            case "load":
                return await self.steps.stored()
            case "save":
                return await self.steps.save(request.subject)
            case "message":
                return await self.steps.message(request.subject)
            case "progress":
                fraction, note = request.subject
                claim = self._held_claim.claim
                if reason := await self._store.perform(progress_of(claim, fraction, note)):
                    raise ClaimLost(claim.job_id, reason)
        return None

    def _contexts(self) -> bytes | None:
        """The pickled functions of plugins whose context managers the child enters."""
        scope = self._jobs.scope(self._held_claim.record.type)
        contexts = [enter for make in methods_of(scope, "in_child") if (enter := make(self.attempt)) is not None]
        return pickle.dumps(contexts) if contexts else None

    async def commit(self, settlement: Settlement) -> Settled:
        raise AssertionError("a handler in another process opens no transaction")

    async def roll_back(self) -> None:
        """Does nothing: there is no transaction."""


def _sendable(error: Exception) -> Exception:
    """The error itself, or an error with the same text if the child could not unpickle it."""
    if isinstance(error, ClaimLost):
        return error
    return HoldfastError(f"{type(error).__name__}: {error}")
