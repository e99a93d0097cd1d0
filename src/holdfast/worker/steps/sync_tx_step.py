"""`tx_step` of a plain handler in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from holdfast.codec.codec import Codec
from holdfast.core.clock import duration
from holdfast.core.retry import Retry, Seconds
from holdfast.engine.operations import GetSteps, Guard, SaveSteps
from holdfast.errors import ClaimLost
from holdfast.worker.sessions import SyncSessionTransaction
from holdfast.worker.steps.calls import check_options
from holdfast.worker.steps.log import Key, inside_step
from holdfast.worker.steps.repeated_tries import StoredByOther, stored_by_other
from holdfast.worker.steps.results import NOT_GIVEN, encoded, result_codec
from holdfast.worker.steps.sync_steps import SyncSteps, check_plain

if TYPE_CHECKING:
    from holdfast.core.record import Claim
    from holdfast.engine.store import Store, SyncTransaction
    from holdfast.worker.completion_rules import CompletionState

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class SyncTxStep(SyncSteps):
    """`tx_step` of a plain handler."""

    if TYPE_CHECKING:
        _store: Store
        _completion: CompletionState[Any]

        @property
        def claim(self) -> Claim: ...
        def _begin_sync(self) -> SyncTransaction: ...
        def _in_block(self, tx: Any, innermost: AbstractContextManager[None]) -> AbstractContextManager[None]: ...
        def _check_signal(self) -> None: ...
        def _abort_behind(self, error: BaseException) -> BaseException | None: ...

    def tx_step(
        self,
        name: str,
        function: Callable[[Any, *Ts], R],
        /,
        *args: *Ts,
        each: Any = NOT_GIVEN,
        returns: Any = NOT_GIVEN,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        session: Callable[[], Any] | None = None,
    ) -> R:
        """Call `function(tx, *args)` once: its writes, its result and the checkpoint are one commit.

        `tx` is the connection or session, as in `complete()`; None on Redis and memory. The commit happens only if the
        attempt still holds the job.
        """
        check_options({}, timeout=timeout)
        check_plain(name, function)
        codec = result_codec(function, returns)
        key = self._steps.log.use("step", name, each)
        repeated = retry is not None or timeout is not None
        once = partial(self._in_transaction, partial(_with_tx, function, args), codec, key, session, repeated=repeated)
        result: R = self._stored(key, codec, once, retry, timeout, saved=True)
        return result

    def _timed_out(self, key: Key) -> None:
        """End the transaction of a try that continues in its thread: it locks the job, and on SQLite the file."""
        if (tx := self._completion.step_txs.pop(key, None)) is not None:
            tx.abandon()

    def _in_transaction(
        self, call: Callable[[Any], Any], codec: Codec, key: Key, session: Callable[[], Any] | None, *, repeated: bool
    ) -> bytes:
        """One try. `repeated`: there may be another one, whose commit succeeded although its answer was lost."""
        tx: Any = self._begin_sync() if session is None else SyncSessionTransaction(self._store, session)
        token, began = inside_step.set("tx_step"), time.monotonic()
        self._completion.step_txs[key] = tx
        try:
            self._check_signal()
            tx.perform(Guard(self.claim))
            with self._in_block(tx, nullcontext()):
                value = call(tx.native)
            payload = encoded(key.name, codec, value)
            took = duration(time.monotonic() - began)
            checkpoint = self._steps.log.checkpoint(key, "step", result=payload, took=took)
            (reason,) = tx.perform(SaveSteps((checkpoint,)))
            if reason is not None:
                raise ClaimLost(self.job.id, reason)
            if repeated:
                stored_by_other(tx.perform(GetSteps((self.job.id,))), checkpoint)
        except StoredByOther as other:
            tx.rollback()
            self._steps.log.adopt([other.row])
            return other.result
        except BaseException as error:
            tx.rollback()
            if (instead := self._abort_behind(error)) is not None:
                raise instead from error
            raise
        finally:
            inside_step.reset(token)
            if self._completion.step_txs.get(key) is tx:
                del self._completion.step_txs[key]
        tx.commit()
        self._steps.log.saved(checkpoint)
        return payload


def _with_tx(function: Callable[..., Any], args: tuple[Any, ...], tx: Any) -> Any:
    return function(tx, *args)
