"""The rules of prepare() and complete() for async and plain handlers: the order of calls, and the resulting outcome."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, cast, overload

from holdfast.client.new_jobs import continuation, new_chain, with_continue_options, with_start_options
from holdfast.client.plugged_starts import Starts, plugged, with_carrier
from holdfast.core.clock import Micros
from holdfast.core.details import started_details
from holdfast.core.failure import readable
from holdfast.core.hooks import failure_of
from holdfast.core.job import Chain
from holdfast.core.lifecycle import Continued, NewJob, Outcome, Raised, Returned
from holdfast.core.record import ChainRecord, Claim, Record, Status
from holdfast.core.waiting_cycles import check_batch
from holdfast.engine.operations import ReportProgress, Started
from holdfast.engine.unawaited import UnawaitedCalls
from holdfast.registry.jobs import AnyBound, AnyJobType, Bound, Jobs
from holdfast.registry.options import ContinueKeywords, ContinueKeywordsWithoutAfter, StartKeywords
from holdfast.worker.attempt_types import Tx, TypedDone

if TYPE_CHECKING:
    from holdfast.worker.attempt_types import TxAttribute

T = TypeVar("T")
B = TypeVar("B")

Mode = Literal["staged", "atomic"]

NOTE_LIMIT = 1000

_NOTHING: Any = object()


class CompletionState(Generic[T]):
    """What one attempt has done so far with prepare() and complete(). `tx` is its open transaction."""

    __slots__ = (
        "_completing", "_continuation", "_error", "_jobs", "_mode", "_next", "_output", "_preparing", "_returned",
        "_type", "keep", "log", "record", "started", "step_txs", "tx", "unawaited", "waited",
    )  # fmt: skip

    def __init__(self, record: Record, job_type: AnyJobType, jobs: Jobs) -> None:
        self.record = record
        self.tx: T | None = None
        self.started: list[Chain[Any]] = []
        self.step_txs: dict[object, Any] = {}
        """The open transactions of `tx_step` in threads."""
        self.keep: Micros | None = None
        """How long to keep the finished chain, if the handler has set it."""
        self.log: bytes | None = None
        """The log to store with the attempt, if a plugin has set it."""
        self.waited = 0.0
        """Seconds in which the attempt has waited for its transactions to begin and to commit."""
        self.unawaited: UnawaitedCalls | None = None
        """The steps and waits of an async handler; None before the first."""
        self._type = job_type
        self._jobs = jobs
        self._mode: Mode | None = None
        self._preparing = False
        self._completing = False
        self._output: bytes | None = None
        self._continuation: Bound[Any] | None = None
        self._next: NewJob | None = None
        """The job of `_continuation`."""
        self._returned: Any = _NOTHING
        self._error: BaseException | None = None

    @property
    def has_transaction(self) -> bool:
        """Whether a transaction of the attempt is open. It must end before the slot is free."""
        return self.tx is not None or bool(self.step_txs)

    @property
    def in_block(self) -> bool:
        """Whether the attempt is in prepare() or complete(), or has an open transaction after an atomic prepare()."""
        return self._preparing or self._completing or self.tx is not None

    def begin_prepare(self, mode: Mode) -> None:
        if mode not in ("staged", "atomic"):
            raise ValueError(f'prepare(mode=...) is "staged" or "atomic", not {mode!r}')
        if self._mode is not None:
            raise RuntimeError("prepare() was called twice; an attempt prepares once")
        if self._completing:
            raise RuntimeError("prepare() comes before complete()")
        self._mode = mode

    @contextmanager
    def preparing(self) -> Generator[None]:
        """Wraps the body of prepare()."""
        self._preparing = True
        try:
            yield
        finally:
            self._preparing = False

    def begin_complete(self) -> None:
        if self._completing:
            raise RuntimeError("complete() was called twice; an attempt completes once")
        if self._preparing:
            raise RuntimeError("complete() comes after the prepare() block, not inside it")
        self._completing = True

    def fail_inside(self, error: BaseException) -> None:
        """Record an error that left a block.

        The block is rolled back, so the attempt fails even if the handler catches the error.
        """
        if self._error is None:
            self._error = readable(error)

    @contextmanager
    def undone_by_errors(self) -> Generator[None]:
        """Wraps a block or its body: an error that leaves the block fails the attempt."""
        try:
            yield
        except BaseException as error:
            self.fail_inside(error)
            raise

    @contextmanager
    def completing(self, done: SharedDone[Any]) -> Generator[None]:
        """Wraps the body of complete()."""
        with self.undone_by_errors():
            yield
            done.check_awaited()

    def fail(self, error: BaseException) -> None:
        """Record an error of the handler. After complete(), the attempt fails even if a middleware catches it."""
        if self._completing:
            self.fail_inside(error)

    def decide_output(self, value: Any) -> None:
        self._check_undecided()
        self._output = self._type.encode_output(value)
        self._returned = value

    def decide_continuation(self, bound: Bound[Any]) -> None:
        self._check_undecided()
        self._type.check_continuation(bound)
        self._continuation, self._next = bound, _next_job(bound, self.record, self._jobs)
        self._returned = bound

    def check_return(self, value: Any) -> None:
        """After complete(), a handler must return the value of output() or continue_with().

        Raises RuntimeError for another value, and for a step or a wait that was not awaited.
        """
        if self._error is not None:
            raise self._error
        if self.unawaited is not None:
            self.unawaited.check_begun()
        if not self._completing:
            if isinstance(value, Bound):
                # Create the next job here, inside the middlewares: plugins add the context of the handler to it.
                self._continuation = value
                self._next = _next_job(self._continuation, self.record, self._jobs)
            return
        if self._returned is _NOTHING:
            raise RuntimeError("complete() ended without done.output(...) or done.continue_with(...)")
        if value is not self._returned:
            raise RuntimeError("after complete(), return the value of done.output() or done.continue_with()")

    def outcome(self, value: Any) -> Outcome:
        """The outcome of the attempt, given the value that the outermost middleware returned."""
        if self._error is not None:
            return Raised(self._error)
        try:
            if self._completing and self._next is not None:
                return Continued(self._next)
            if self._completing:
                assert self._output is not None
                return Returned(self._output)
        except Exception as error:
            return Raised(error)
        next_job = self._next if value is self._continuation else None
        return outcome_of(value, self.record, self._type, self._jobs, next_job)

    def _check_undecided(self) -> None:
        if self._returned is not _NOTHING:
            raise RuntimeError("the attempt is completed already: call output() or continue_with() once")


def outcome_of(value: Any, record: Record, job_type: AnyJobType, jobs: Jobs, next_job: NewJob | None = None) -> Outcome:
    """The outcome that a handler's return value stands for. `next_job` is the job of a continuation, if it exists."""
    try:
        if isinstance(value, Bound):
            bound: Bound[Any] = value  # pyright: ignore[reportUnknownVariableType]
            job_type.check_continuation(bound)
            return Continued(next_job or _next_job(bound, record, jobs))
        return Returned(job_type.encode_output(value))
    except Exception as error:
        return Raised(error)


def _next_job(bound: Bound[Any], after: Record, jobs: Jobs) -> NewJob:
    return with_carrier(jobs, continuation(bound, after))


def blocker_outputs(chains: list[ChainRecord], jobs: Jobs) -> tuple[Any, ...]:
    """The outputs of a job's blockers, in order: a `Failure` if a chain did not complete, None if it is open."""
    return tuple(_blocker_output(chain, jobs) for chain in chains)


def _blocker_output(chain: ChainRecord, jobs: Jobs) -> Any:
    last = chain.last
    if last.status is Status.COMPLETED:
        return None if last.output is None else jobs.output(last.type, last.output)
    return failure_of(last) if last.status.finished else None


def progress_of(claim: Claim, fraction: float, note: str | None) -> ReportProgress:
    """The operation that stores an attempt's progress, with a note that every store accepts."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"progress lies between 0 and 1, not {fraction}")
    if note is not None:
        note = note[:NOTE_LIMIT].encode("utf-8", "replace").decode().replace("\0", "")
    return ReportProgress(claim, float(fraction), note)


class SharedDone(TypedDone[Tx]):
    """The common part of Done and SyncDone: the output or the continuation of the attempt, and the transaction."""

    def __init__(self, completion: CompletionState[Any], tx: Any, jobs: Jobs) -> None:
        self._completion = completion
        self._tx = tx
        self._jobs = jobs

    if TYPE_CHECKING:
        tx = TxAttribute()
    else:

        @property
        def tx(self) -> Any:
            """The connection or session for the application's writes; None on Redis and memory."""
            return self._tx.native

    def output(self, value: T) -> T:
        """Complete the job with this output. The handler must return the value of this call."""
        self._completion.decide_output(value)
        return value

    @overload
    def continue_with(self, bound: Bound[T], **options: Unpack[ContinueKeywords]) -> Bound[T]: ...

    @overload
    def continue_with(
        self, bound: Bound[T, B], *, after: B, **options: Unpack[ContinueKeywordsWithoutAfter]
    ) -> Bound[T]: ...

    def continue_with(self, bound: Bound[T, Any], **options: Any) -> Bound[T]:
        """Complete the job and continue the chain with the next one. The handler must return the value of this call."""
        given = with_continue_options(bound, cast("ContinueKeywords", options))
        self._completion.decide_continuation(given)
        return given

    def check_awaited(self) -> None:
        """Raises RuntimeError if a call was not awaited. Blocking calls need no check."""

    def _starts(self, bound: AnyBound, options: dict[str, Any]) -> Starts:
        given = with_start_options(bound, cast("StartKeywords", options), call="done.start")
        record = self._completion.record
        new = new_chain(given, started_details(record.id, record.details))
        check_batch([new])
        return plugged(self._jobs, [new])

    def _record_started(self, started: Started) -> Chain[Any]:
        chain: Chain[Any] = Chain(started.chain, self._jobs, deduplicated=started.deduplicated)
        self._completion.started.append(chain)
        return chain
