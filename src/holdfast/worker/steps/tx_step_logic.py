"""One try of a transactional step, written once for async and plain handlers: a generator that yields requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.codec.codec import Codec
from holdfast.core.clock import duration
from holdfast.engine.operations import GetSteps, Guard, SaveSteps
from holdfast.errors import ClaimLost
from holdfast.worker.attempt_blocks import Begin, Commit, Perform, RollBack, SessionFactory
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.repeated_tries import StoredByOther, stored_by_other
from holdfast.worker.steps.results import encoded

if TYPE_CHECKING:
    from holdfast.core.record import Claim
    from holdfast.core.steps import Checkpoint
    from holdfast.worker.steps.log import StepLog


class CallInTx(NamedTuple):
    """Call the function of the step. The result is its value."""

    call: Callable[[Any], Any]
    tx: Any


Request = Begin | Perform | CallInTx | Commit | RollBack


class SharedTxStep:
    """The common part of `tx_step` of Attempt and of SyncAttempt."""

    if TYPE_CHECKING:

        @property
        def claim(self) -> Claim: ...
        def _in_block(self, tx: Any, innermost: AbstractContextManager[None]) -> AbstractContextManager[None]: ...
        def _check_signal(self) -> None: ...
        def _abort_behind(self, error: BaseException) -> BaseException | None: ...

    def _in_transaction(
        self,
        log: StepLog,
        call: Callable[[Any], Any],
        codec: Codec,
        key: Key,
        session: SessionFactory,
        *,
        repeated: bool,
    ) -> Generator[Request, Any, bytes]:
        """One try. With `repeated`, another try may have committed although its answer was lost."""
        tx = yield Begin(session)
        token = inside_step.set("tx_step")
        with self._registered(key, tx):
            try:
                checkpoint = yield from self._written(tx, log, call, codec, key, repeated=repeated)
            except StoredByOther as other:
                yield RollBack(tx, other)
                log.adopt([other.row])
                return other.result
            except BaseException as error:
                yield RollBack(tx, error)
                if (abort := self._abort_behind(error)) is not None:
                    raise abort from error
                raise
            finally:
                inside_step.reset(token)
        yield Commit(tx)
        log.saved(checkpoint)
        assert checkpoint.result is not None
        return checkpoint.result

    def _written(
        self, tx: Any, log: StepLog, call: Callable[[Any], Any], codec: Codec, key: Key, *, repeated: bool
    ) -> Generator[Request, Any, Checkpoint]:
        """Call the function of the step and write its checkpoint. Raises StoredByOther if another try stored it."""
        began = time.monotonic()
        self._check_signal()
        yield Perform(tx, Guard(self.claim))
        with self._in_block(tx, nullcontext()):
            value = yield CallInTx(call, tx)
        payload = encoded(key.name, codec, value)
        took = duration(time.monotonic() - began)
        checkpoint = log.checkpoint(key, "step", result=payload, took=took)
        (reason,) = yield Perform(tx, SaveSteps((checkpoint,)))
        if reason is not None:
            raise ClaimLost(self.claim.job_id, reason)
        if repeated:
            stored_by_other((yield Perform(tx, GetSteps((self.claim.job_id,)))), checkpoint)
        return checkpoint

    def _registered(self, key: Key, tx: Any) -> AbstractContextManager[None]:
        """A context manager in which an abort, and the timeout of the step, can end the transaction."""
        return nullcontext()
