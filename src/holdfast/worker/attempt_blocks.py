"""The blocks of an attempt, `prepare` and `complete`, written once for async and plain handlers.

A block is a generator that yields requests: begin a transaction, perform an operation, run the body of the `with`
statement, commit or roll back. Attempt awaits each request, SyncAttempt blocks on it. An error of a request is raised
inside the generator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, cast

from holdfast.core.clock import duration
from holdfast.core.job import Chain
from holdfast.core.record import Claim
from holdfast.core.retry import Seconds, seconds
from holdfast.core.schedule import tick_of
from holdfast.engine.operations import Guard, Operation
from holdfast.engine.procedures import Procedure
from holdfast.engine.unawaited import check_statements
from holdfast.errors import ClaimLost
from holdfast.registry.extensions import methods_of
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.attempt_types import Blockers, State, Tx, TypedAttempt
from holdfast.worker.completion_rules import Mode, SharedDone, progress_of
from holdfast.worker.held_claims import lease_clock
from holdfast.worker.steps.log import StepWrapper

SessionFactory = Callable[[], Any] | None


class Begin(NamedTuple):
    """Begin a transaction of the store, which may wait for its first operation, or of a new session. Returns it."""

    session: SessionFactory


class Perform(NamedTuple):
    """Perform an operation in the transaction."""

    tx: Any
    operation: Operation[Any]


class Commit(NamedTuple):
    tx: Any


class RollBack(NamedTuple):
    """Roll back because of this error."""

    tx: Any
    error: BaseException


class Body(NamedTuple):
    """Run the body of the `with` statement inside the context managers of all middlewares."""

    block: Literal["prepare", "complete"]
    value: Any
    """The value that `as` binds and that the middlewares receive."""
    innermost: AbstractContextManager[None]


Request = Begin | Perform | Commit | RollBack | Body
Block = Generator[Request, Any, None]


class SharedAttempt(TypedAttempt[Tx, Blockers, State]):
    """The common part of Attempt and SyncAttempt."""

    __holdfast_attempt__: ClassVar[str]

    def __init__(self, parts: AttemptParts) -> None:
        self.job = parts.job
        self.blockers = cast("Blockers", parts.blockers)
        self.signal = parts.signal
        self._store = parts.store
        self._jobs = parts.jobs
        self._completion = parts.completion
        self._middlewares = parts.middlewares
        self._attempt_steps = parts.steps
        self.state = cast("State", None)
        """The value that the lifespan of the registry yielded; None if there is no lifespan."""
        self.blocker_chains: tuple[Chain[Any], ...] = ()
        """The chains that the job waited for, in order."""
        self.child_notes: dict[str, bytes] = {}
        """Data that plugins stored in the child process of the handler: see `Plugin.in_child`."""

    @property
    def claim(self) -> Claim:
        """Proof of the claim: the job's id, and a token, new for each attempt. Jobs claimed together share a token."""
        return self.job.record.claim

    @property
    def tick(self) -> datetime | None:
        """The tick of the schedule that started the chain; None if no schedule did."""
        return tick_of(self.job.chain_id)

    def keep(self, time: Seconds) -> None:
        """Keep the finished chain for this long, instead of the time that its type sets."""
        self._completion.keep = duration(seconds(time))

    def attach_log(self, text: str) -> None:
        """Store this text with the attempt when it ends, as its log in the job's report. A second call replaces it."""
        self._completion.log = text.encode("utf-8", "replace")

    def wrap_steps(self, wrap: StepWrapper) -> None:
        """For plugins: run each durable step in the context manager `wrap(name, each)`. `each` is JSON, or empty."""
        self._attempt_steps.log.wrappers += (wrap,)

    def _prepare_block(self, mode: Mode, session: SessionFactory) -> Block:
        self._completion.begin_prepare(mode)
        tx = yield from self._begin(session)
        try:
            yield Body("prepare", tx.native, self._in_block(tx, self._completion.preparing()))
            check_statements(tx)
            if mode == "staged" and session is not None:
                # If the application caught the error of a statement, the session's commit would silently roll back.
                yield Perform(tx, Guard(self.claim))
        except BaseException as error:
            self._completion.tx = None
            if mode == "atomic":
                self._completion.fail_inside(error)
            yield RollBack(tx, error)
            raise
        if mode == "staged":
            self._completion.tx = None
            yield Commit(tx)

    def _complete_block(self, session: SessionFactory) -> Block:
        self._completion.begin_complete()
        tx = self._completion.tx or (yield from self._begin(session))
        done = self._done(tx)
        with self._completion.undone_by_errors():
            yield Body("complete", done, self._in_block(tx, self._completion.completing(done)))

    def _begin(self, session: SessionFactory) -> Generator[Request, Any, Any]:
        since = lease_clock()
        tx = yield Begin(session)
        self._completion.tx = tx
        try:
            # Check the signal after `tx` is set. An earlier abort could not abandon the transaction, and the settlement
            # could not be written while the transaction is open.
            self._check_signal()
            yield Perform(tx, Guard(self.claim))
            self._completion.waited += lease_clock() - since
        except BaseException as error:
            self._completion.tx = None
            yield RollBack(tx, error)
            if (abort := self._abort_behind(error)) is not None:
                raise abort from error
            raise
        return tx

    def _in_block(self, tx: Any, innermost: AbstractContextManager[None]) -> AbstractContextManager[None]:
        """The context manager around the application's code in a transaction: those of plugins, then `innermost`."""
        added = methods_of(self._jobs.scope(self.job.type), "in_block")
        return _entered([make(self, tx) for make in added], innermost) if added else innermost

    def _progress_procedure(self, fraction: float, note: str | None) -> Procedure[None]:
        reason = yield progress_of(self.claim, fraction, note)
        if reason is not None:
            raise ClaimLost(self.job.id, reason)

    def _done(self, tx: Any) -> SharedDone[Any]:
        """The object that `complete` gives to the body."""
        raise NotImplementedError

    def _check_signal(self) -> None:
        """Raise if the attempt was aborted and must not begin a transaction."""
        raise NotImplementedError

    def _abort_behind(self, error: BaseException) -> BaseException | None:
        """The error to raise instead if an abort caused this error; otherwise None."""
        return None


@contextmanager
def _entered(added: Iterable[AbstractContextManager[Any]], innermost: AbstractContextManager[None]) -> Generator[None]:
    with ExitStack() as stack:
        for each in added:
            stack.enter_context(each)
        stack.enter_context(innermost)
        yield
