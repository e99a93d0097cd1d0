"""`tx_step` of a plain handler in a thread."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from holdfast.codec.codec import Codec
from holdfast.core.retry import Retry, Seconds
from holdfast.engine.generators import drive
from holdfast.worker.steps import tx_step_logic
from holdfast.worker.steps.calls import check_options
from holdfast.worker.steps.log import Key
from holdfast.worker.steps.results import NOT_GIVEN, result_codec
from holdfast.worker.steps.step_logic import itself
from holdfast.worker.steps.sync_steps import SyncSteps, check_plain
from holdfast.worker.steps.tx_step_logic import CallInTx, SharedTxStep

if TYPE_CHECKING:
    from holdfast.worker.attempt_blocks import Begin, Commit, Perform, RollBack
    from holdfast.worker.completion_rules import CompletionState

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class SyncTxStep(SyncSteps, SharedTxStep):
    """`tx_step` of a plain handler."""

    if TYPE_CHECKING:
        _completion: CompletionState[Any]

        def _perform(self, request: Begin | Perform | Commit | RollBack) -> Any: ...

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
        call = partial(_with_tx, function, args)
        once = partial(self._call_in_transaction, call, codec, key, session, repeated=repeated)
        result: R = drive(self._stored(key, codec, once, retry, timeout, saved=True), itself)
        return result

    def _timed_out(self, key: Key) -> None:
        """End the transaction of a try that continues in its thread: it locks the job row, and on SQLite the file."""
        if (tx := self._completion.step_txs.pop(key, None)) is not None:
            tx.abandon()

    def _call_in_transaction(
        self, call: Callable[[Any], Any], codec: Codec, key: Key, session: Callable[[], Any] | None, *, repeated: bool
    ) -> bytes:
        logic = self._in_transaction(self._steps.log, call, codec, key, session, repeated=repeated)
        return drive(logic, self._perform_in_transaction)

    def _perform_in_transaction(self, request: tx_step_logic.Request) -> Any:
        return request.call(request.tx.native) if isinstance(request, CallInTx) else self._perform(request)

    @contextmanager
    def _registered(self, key: Key, tx: Any) -> Generator[None]:
        self._completion.step_txs[key] = tx
        try:
            yield
        finally:
            if self._completion.step_txs.get(key) is tx:
                del self._completion.step_txs[key]


def _with_tx(function: Callable[..., Any], args: tuple[Any, ...], tx: Any) -> Any:
    return function(tx, *args)
