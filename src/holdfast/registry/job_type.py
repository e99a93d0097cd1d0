"""Job types: names with a typed input, a typed output and a function."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Concatenate, Generic, overload

from holdfast.codec.annotations import name_of
from holdfast.codec.assignability import assignable
from holdfast.core.clock import duration
from holdfast.core.lanes import JobLanes, LaneRule, job_lanes
from holdfast.core.lifecycle import NewJob, Outcome, Settlement
from holdfast.core.record import UNLIMITED, Record
from holdfast.core.retry import seconds
from holdfast.errors import PayloadRefused
from holdfast.registry.bound import AnyBound, Bound
from holdfast.registry.declared_blockers import declared_blockers
from holdfast.registry.failure_hooks import stored_hook
from holdfast.registry.limits import AnyLimit, checked_limits, fair_lane, lanes_of_call
from holdfast.registry.options import TypeOptions
from holdfast.registry.signature import Signature
from holdfast.registry.type_parameters import P, Q, R, Required, T_co

if TYPE_CHECKING:
    # Imported for type checkers only: the registry must not depend on the worker.
    from holdfast.worker.attempt import Attempt
    from holdfast.worker.sync_attempt import SyncAttempt

if TYPE_CHECKING:
    Asynchronous = Callable[P, Coroutine[Any, Any, "R | Bound[R]"]]
    Plain = Callable[P, "R | Bound[R]"]

Conclude = Callable[[Record, Outcome, Settlement], Awaitable[Settlement]]
"""Receives a claimed job, the outcome of its attempt and the settlement. Returns the settlement to write."""


class JobType(Generic[P, Q, T_co, Required]):
    """A name with a typed input and a typed output, and its function if one is attached.

    P are the parameters of `bind`. Q are the parameters of the function, including an attempt. T is the return type of
    the function. Required is the type of `after`, if the type declares blockers. Calling a job type calls the function,
    so a handler can be tested like any other function.
    """

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self, function: Callable[..., Any], *, name: str, options: TypeOptions, limit: int, handled: bool
    ) -> None:
        self.name = name
        self.options = options
        self.retry = options.retry
        self.lease = options.lease
        self.renew_interval = options.renew_interval
        self.timeout = options.timeout
        self.priority = options.priority
        self.keep = options.keep
        self.keep_micros = None if options.keep is None else duration(seconds(options.keep))
        self.on_blocker_failure = options.on_blocker_failure
        self.executor = options.executor
        self.attempt_limit = None if options.retry is None else options.retry.max_attempts or UNLIMITED
        """The limit of attempts that is stored with each job. None: the worker decides."""
        self.failure_hook = stored_hook(options.on_failure)
        self.signature = Signature(function, name=name, limit=limit)
        self.limits = self._checked_limits()
        self.blockers = declared_blockers(options.blockers)
        self.plain_job = self._plain_job()
        """A new job of this type without its id and input. None if jobs of the type differ in more than these two."""
        self.function: Callable[..., Any] | None = None
        self._continues: Any = Any
        self.conclude: Conclude | None = None
        """May change the settlement before it is written, but not whether the job completed."""
        self.takes_attempt = False
        self.is_async = False
        functools.update_wrapper(self, function)
        if handled:
            self._attach(function, self.signature)

    @overload
    def bind(
        self: JobType[P, Q, Coroutine[Any, Any, Bound[R]], Required], /, *args: P.args, **kwargs: P.kwargs
    ) -> Bound[R, Required]: ...

    @overload
    def bind(
        self: JobType[P, Q, Coroutine[Any, Any, R | Bound[R]], Required], /, *args: P.args, **kwargs: P.kwargs
    ) -> Bound[R, Required]: ...

    @overload
    def bind(self: JobType[P, Q, Bound[R], Required], /, *args: P.args, **kwargs: P.kwargs) -> Bound[R, Required]: ...

    @overload
    def bind(
        self: JobType[P, Q, R | Bound[R], Required], /, *args: P.args, **kwargs: P.kwargs
    ) -> Bound[R, Required]: ...

    def bind(self, /, *args: Any, **kwargs: Any) -> AnyBound:
        """Bind arguments to a call. They are checked against the signature and encoded now.

        Raises WrongArguments for unknown or missing arguments and for arguments of the wrong type. Raises
        PayloadRefused for values that cannot be stored unchanged. Both errors name the argument.
        """
        payload = self.signature.bind(args, kwargs)
        return self._with_lanes(payload) if self.limits else Bound(self, payload)

    def parse(self, text: bytes | str) -> Bound[Any]:
        """The same from JSON text: an object with the arguments by name."""
        payload = self.signature.parse(text.encode() if isinstance(text, str) else text)
        return self._with_lanes(payload) if self.limits else Bound(self, payload)

    def _with_lanes(self, payload: bytes) -> AnyBound:
        return Bound(self, payload, lanes=self.lanes_of(self.signature.values(payload)))

    def lanes_of(self, arguments: Any) -> tuple[LaneRule, ...]:
        """The lanes of a call with these arguments."""
        return lanes_of_call(self.limits, arguments, owner=self.name)

    def _plain_job(self) -> NewJob | None:
        if self.limits or self.blockers is not None or self.failure_hook is not None:
            return None
        return NewJob(
            "",
            self.name,
            "",
            b"",
            priority=self.priority,
            max_attempts=self.attempt_limit,
            keep=self.keep_micros,
            on_blocker_failure=self.on_blocker_failure,
            chosen=False,
        )

    def _checked_limits(self) -> tuple[AnyLimit, ...]:
        return checked_limits(self.options.limits, self.signature.parameters, owner=self.name)

    def job_lanes(self, lanes: tuple[LaneRule, ...], priority: int) -> JobLanes:
        """The lanes of a call as they are stored with its job."""
        return job_lanes(self.name, priority, lanes, fair_lane(self.limits, lanes))

    def __call__(self, /, *args: Q.args, **kwargs: Q.kwargs) -> T_co:
        """Call the function directly. No job is created."""
        if self.function is None:
            raise TypeError(f"{self.name} is only declared here; attach its function with @{self.__name__}.handler")
        result: T_co = self.function(*args, **kwargs)
        return result

    def call(self, attempt: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """Call the function with `arguments`, and with the attempt if the function has a parameter for it."""
        assert self.function is not None, f"{self.name} has no function here"
        args, kwargs = arguments
        return self.function(attempt, *args, **kwargs) if self.takes_attempt else self.function(*args, **kwargs)

    def arguments(self, stored: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a stored input. Raises PayloadRefused if they do not match the parameters."""
        return self.signature.arguments(stored)

    def decode_input(self, stored: bytes) -> dict[str, Any]:
        """A stored input by parameter name."""
        return self.signature.values(stored)

    def encode_output(self, value: Any) -> bytes:
        """Encode an output. Raises PayloadRefused if it has the wrong type or cannot be stored unchanged."""
        try:
            return self.signature.output.encode(value)
        except PayloadRefused as refusal:
            advice = ""
            if isinstance(value, JobType):
                name: str = value.name  # pyright: ignore[reportUnknownMemberType]
                advice = f"; to continue with {name}, use {name}.bind(...)"
            raise PayloadRefused(f"{self.name}: its output: {refusal}{advice}") from refusal

    def decode_output(self, stored: bytes) -> Any:
        """Decode a stored output. Raises PayloadRefused if it does not have the return type."""
        try:
            return self.signature.output.decode(stored)
        except PayloadRefused as refusal:
            raise PayloadRefused(f"{self.name}: its output {refusal}") from refusal

    def check_continuation(self, bound: AnyBound) -> None:
        """Raise TypeError if the return annotation of the function does not allow this continuation."""
        if self._continues is None:
            wanted = name_of(self.signature.returns)
            raise TypeError(
                f"{self.name} is declared to return {wanted}, and returned {bound.type.name}.bind(...); "
                f"a handler that may continue is annotated `{wanted} | Bound[{wanted}]`"
            )
        self._check_output(bound, self._continues)

    def check_next(self, bound: AnyBound) -> None:
        """Raise TypeError if the chain would end with an output of another type.

        Unlike a handler, an external caller may continue the chain of a function that is annotated to return a value.
        """
        self._check_output(bound, self.signature.returns)

    def _check_output(self, bound: AnyBound, wanted: Any) -> None:
        gives = bound.type.signature.returns
        if not assignable(gives, wanted):
            raise TypeError(
                f"{self.name} must continue with a job type that returns {name_of(wanted)}; "
                f"{bound.type.name} returns {name_of(gives)}"
            )

    @overload
    def handler(
        self: JobType[P, Q, Coroutine[Any, Any, R], Any], function: Asynchronous[Concatenate[Attempt, P], R], /
    ) -> Asynchronous[Concatenate[Attempt, P], R]: ...

    @overload
    def handler(
        self: JobType[P, Q, Coroutine[Any, Any, R], Any], function: Asynchronous[P, R], /
    ) -> Asynchronous[P, R]: ...

    # For a type checker a coroutine could also be an output; the order of the overloads decides.
    @overload
    def handler(  # type: ignore[overload-overlap]
        self: JobType[P, Q, Coroutine[Any, Any, R], Any], function: Plain[Concatenate[SyncAttempt, P], R], /
    ) -> Plain[Concatenate[SyncAttempt, P], R]: ...

    @overload
    def handler(  # type: ignore[overload-overlap]
        self: JobType[P, Q, Coroutine[Any, Any, R], Any], function: Plain[P, R], /
    ) -> Plain[P, R]: ...

    @overload
    def handler(
        self: JobType[P, Q, R, Any], function: Asynchronous[Concatenate[Attempt, P], R], /
    ) -> Asynchronous[Concatenate[Attempt, P], R]: ...

    @overload
    def handler(self: JobType[P, Q, R, Any], function: Asynchronous[P, R], /) -> Asynchronous[P, R]: ...

    @overload
    def handler(
        self: JobType[P, Q, R, Any], function: Plain[Concatenate[SyncAttempt, P], R], /
    ) -> Plain[Concatenate[SyncAttempt, P], R]: ...

    @overload
    def handler(self: JobType[P, Q, R, Any], function: Plain[P, R], /) -> Plain[P, R]: ...

    def handler(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Attach the function of a declared type. Its signature must be the declared one.

        It may be plain or async, independent of the declaration, and may take an attempt as its first parameter.
        Raises TypeError with the differences, or if a function is attached already.
        """
        if self.function is not None:
            raise TypeError(f"{self.name} has a function already: {self.function.__qualname__}")
        signature = Signature(function, name=self.name, limit=self.signature.limit)
        if found := self.signature.differences(signature, function.__annotations__):
            raise TypeError(f"{function.__qualname__} cannot handle {self.name}: {'; '.join(found)}")
        self._attach(function, signature)
        return function

    def _attach(self, function: Callable[..., Any], signature: Signature) -> None:
        if signature.is_async and self.executor == "process":
            raise TypeError(f'{self.name}: executor="process" is for plain functions, and this one is async')
        if self.blockers is not None:
            self.blockers.check_handler(self.name, signature)
        self.function = function
        self.takes_attempt = signature.takes_attempt
        self.is_async = signature.is_async
        self._continues = self.signature.returns if signature.continues is Any else signature.continues

    if TYPE_CHECKING:
        # For `Gives`: the output of the chains of this type.
        @overload
        def __gives__(self: JobType[P, Q, Coroutine[Any, Any, Bound[R]], Any]) -> R: ...

        @overload
        def __gives__(self: JobType[P, Q, Coroutine[Any, Any, R | Bound[R]], Any]) -> R: ...

        @overload
        def __gives__(self: JobType[P, Q, Bound[R], Any]) -> R: ...

        @overload
        def __gives__(self: JobType[P, Q, R | Bound[R], Any]) -> R: ...

        def __gives__(self) -> Any: ...

    __name__: str
    __qualname__: str

    def __reduce__(self) -> str:
        # Pickled by reference, like a function: another process imports it from its module.
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<JobType {self.name}>"


AnyJobType = JobType[..., ..., Any, Any]
