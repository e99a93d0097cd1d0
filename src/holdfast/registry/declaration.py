"""The decorators that declare job types."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar, Unpack, overload

from holdfast.core.defaults import KEEP
from holdfast.core.job import Chain
from holdfast.core.retry import Retry, Seconds
from holdfast.registry.declared_blockers import Each, Gives
from holdfast.registry.job_type import AnyJobType, JobType
from holdfast.registry.limits import AnyLimit
from holdfast.registry.options import Executor, OnBlockerFailure, TypeKeywords, TypeOptions, refuse_unknown
from holdfast.registry.type_parameters import P

if TYPE_CHECKING:
    # Imported for type checkers only: the registry must not depend on the worker.
    from holdfast.registry.jobs import Jobs
    from holdfast.registry.waiting_declaration import Anything, WaitingDeclaration
    from holdfast.worker.attempt import Attempt
    from holdfast.worker.sync_attempt import SyncAttempt

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")

MAX_NAME = 200


class Declaration:
    """A decorator that declares job types with these options."""

    def __init__(
        self, jobs: Jobs, *, handled: bool, name: str | None = None, options: TypeOptions | None = None
    ) -> None:
        self._jobs = jobs
        self._handled = handled
        self._name = name
        self._options = options or TypeOptions()

    # A first parameter of type Any or object accepts an attempt, but may be an ordinary parameter. Type checkers cannot
    # distinguish the two, so `bind` is unchecked for such functions.
    @overload
    def __call__(self, function: Callable[Concatenate[Anything, P], T], /) -> JobType[..., ..., T]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[Attempt, P], T], /) -> JobType[P, Concatenate[Attempt, P], T]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncAttempt, P], T], /
    ) -> JobType[P, Concatenate[SyncAttempt, P], T]: ...

    @overload
    def __call__(self, function: Callable[P, T], /) -> JobType[P, P, T]: ...

    @overload
    def __call__(self, /, **options: Unpack[TypeKeywords]) -> Declaration: ...

    @overload
    def __call__(
        self, /, *, blockers: tuple[Gives[A]], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[A], tuple[Chain[A]]]: ...

    @overload
    def __call__(
        self, /, *, blockers: tuple[Gives[A], Gives[B]], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[A, B], tuple[Chain[A], Chain[B]]]: ...

    @overload
    def __call__(
        self, /, *, blockers: tuple[Gives[A], Gives[B], Gives[C]], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[A, B, C], tuple[Chain[A], Chain[B], Chain[C]]]: ...

    @overload
    def __call__(
        self, /, *, blockers: tuple[Gives[A], Gives[B], Gives[C], Gives[D]], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[A, B, C, D], tuple[Chain[A], Chain[B], Chain[C], Chain[D]]]: ...

    @overload
    def __call__(
        self, /, *, blockers: Each[A], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[A, ...], tuple[Chain[A], ...]]: ...

    # Type checkers do not check the types of five or more blockers.
    @overload
    def __call__(
        self, /, *, blockers: tuple[AnyJobType, ...], **options: Unpack[TypeKeywords]
    ) -> WaitingDeclaration[tuple[Any, ...], tuple[Chain[Any], ...]]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        lease: Seconds | None = None,
        renew_interval: Seconds | None = None,
        timeout: Seconds | None = None,
        priority: int = 0,
        keep: Seconds | None = KEEP,
        on_blocker_failure: OnBlockerFailure = "wait",
        executor: Executor = "thread",
        on_failure: AnyJobType | None = None,
        limits: Iterable[AnyLimit] = (),
        blockers: object = None,
        **unknown: object,
    ) -> Any:
        """Declare a function as a job type. With options, return a decorator that does so.

        `name`: the default is the name of the function. `lease` and `timeout` apply to one attempt. `renew_interval`:
        the time between two renewals of the lease, by default a third of it. `keep`: how long a finished chain is kept
        (None: without end). `on_blocker_failure`: what happens to a job whose blocker failed. `executor`: where a plain
        function runs. `on_failure`: the type of the chain that a permanent failure starts; it takes one `Failure`.
        `limits`: its limits, rates and orders. `blockers`: the types of the chains that each job waits for, as a tuple
        or `each(TYPE)`; a start must name such chains in `after`. For other options that are None, the worker decides.
        """
        if unknown:
            known = ("name", *(field.name for field in dataclasses.fields(TypeOptions)))
            refuse_unknown("jobs.job" if self._handled else "jobs.declare", unknown, known=known)
        if function is not None:
            return self._declare(function)
        options = TypeOptions(
            retry=retry, lease=lease, timeout=timeout, priority=priority, keep=keep,
            on_blocker_failure=on_blocker_failure, executor=executor, renew_interval=renew_interval,
            on_failure=on_failure, limits=limits, blockers=blockers,
        )  # fmt: skip
        return Declaration(self._jobs, handled=self._handled, name=name, options=options)

    def _declare(self, function: Callable[..., Any]) -> AnyJobType:
        if not inspect.isfunction(function):
            raise TypeError(f"a job type is declared by a function, not by {function!r}")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is a generator; a job returns its output")
        if self._name is None and function.__name__ == "<lambda>":
            raise TypeError("a lambda has no name of its own; declare a function made with def, or give a name=")
        if _is_method(function):
            raise TypeError(f"{function.__qualname__} is a method; a job type is declared by a function")
        name = checked_name(function.__name__ if self._name is None else self._name)
        declared: AnyJobType = JobType(
            function, name=name, options=self._options, limit=self._jobs.payload_limit, handled=self._handled
        )
        self._jobs.add(declared)
        return declared


def _is_method(function: Callable[..., Any]) -> bool:
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), None)
    return first in ("self", "cls") and owner != "" and not owner.endswith("<locals>")


def checked_name(name: str, subject: str = "a job type") -> str:
    """The name, if a job type or a registry can have it."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the name of {subject} must be a str, not {type(name).__name__}")
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"the name of {subject} has 1 to {MAX_NAME} printable characters, unlike {name!r:.60}")
    return name
