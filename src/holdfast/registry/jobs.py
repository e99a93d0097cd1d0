"""The registry of job types, and the decorators that declare them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, final, overload

from holdfast.codec.codec import codec_for, plain
from holdfast.codec.payload import DEFAULT_LIMIT, HARD_LIMIT
from holdfast.core.defaults import KEEP
from holdfast.core.retry import Retry, Seconds
from holdfast.errors import DuplicateJobType, UnknownJobType
from holdfast.registry.job_type import AnyJobType, Bound, JobType
from holdfast.registry.options import Executor, OnBlockerFailure, TypeOptions, refuse_unknown

if TYPE_CHECKING:
    # Imported for type checkers only: the registry must not depend on the worker.
    from holdfast.worker.attempt import Attempt
    from holdfast.worker.sync_attempt import SyncAttempt

__all__ = ["AnyJobType", "Bound", "Declaration", "JobType", "Jobs"]

P = ParamSpec("P")
T = TypeVar("T")

MAX_NAME = 200


class Jobs:
    """The job types of an application, each with a unique name.

    Job types are added while modules are imported. Afterwards any thread may read the registry. `payload_limit` is the
    maximum number of JSON bytes of an input or output: 1 MiB by default, 16 MiB at most.
    """

    def __init__(self, *, payload_limit: int = DEFAULT_LIMIT) -> None:
        if not 1 <= payload_limit <= HARD_LIMIT:
            raise ValueError(f"payload_limit must lie between 1 and {HARD_LIMIT:,} bytes, not {payload_limit:,}")
        self.payload_limit = payload_limit
        self.job = Declaration(self, handled=True)
        """Declares a job type and its function: `@jobs.job`, or with options, `@jobs.job(lease=60)`."""
        self.declare = Declaration(self, handled=False)
        """Declares a job type without a function: `@jobs.declare`. `@TYPE.handler` attaches the function."""
        self._types: dict[str, AnyJobType] = {}
        self._untyped = codec_for(Any, limit=payload_limit)

    def add(self, job_type: AnyJobType) -> None:
        """Add a job type. Raises DuplicateJobType if another one has its name."""
        if self._types.setdefault(job_type.name, job_type) is not job_type:
            raise DuplicateJobType(job_type.name)

    def include(self, other: Jobs) -> None:
        """Add every job type that `other` has now. The same job type may be added twice."""
        for job_type in other:
            if self._types.get(job_type.name, job_type) is not job_type:
                raise DuplicateJobType(job_type.name)
        self._types.update(other._types)

    def get(self, name: str) -> AnyJobType | None:
        """The type with this name, or None."""
        return self._types.get(name)

    def __getitem__(self, name: str) -> AnyJobType:
        try:
            return self._types[name]
        except KeyError:
            raise UnknownJobType(name, self._types) from None

    def __contains__(self, job_type: object) -> bool:
        name = job_type.name if isinstance(job_type, JobType) else job_type
        return name in self._types

    def __iter__(self) -> Iterator[AnyJobType]:
        return iter(list(self._types.values()))

    def __len__(self) -> int:
        return len(self._types)

    def __bool__(self) -> bool:
        return True

    def input(self, type: str, stored: bytes) -> Any:
        """A stored input by parameter name. For an unknown type it returns plain JSON values."""
        known = self._types.get(type)
        return plain(stored) if known is None else known.decode_input(stored)

    def output(self, type: str, stored: bytes) -> Any:
        """A stored output. For an unknown type it returns plain JSON values."""
        known = self._types.get(type)
        return plain(stored) if known is None else known.decode_output(stored)

    def plain(self, value: Any) -> bytes:
        """Encode the output of an unknown type: plain JSON values only."""
        return self._untyped.encode(value)

    def __repr__(self) -> str:
        return f"<Jobs {', '.join(self._types) or 'without types'}>"


@final
class _Anything:
    """Matches only a first parameter of type Any or object."""


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
    def __call__(self, function: Callable[Concatenate[_Anything, P], T], /) -> JobType[..., ..., T]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[Attempt, P], T], /) -> JobType[P, Concatenate[Attempt, P], T]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncAttempt, P], T], /
    ) -> JobType[P, Concatenate[SyncAttempt, P], T]: ...

    @overload
    def __call__(self, function: Callable[P, T], /) -> JobType[P, P, T]: ...

    @overload
    def __call__(
        self,
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
    ) -> Declaration: ...

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
        **unknown: object,
    ) -> Any:
        """Declare a function as a job type. With options, return a decorator that does so.

        `name`: the default is the name of the function. `lease` and `timeout` apply to one attempt. `renew_interval`:
        the time between two renewals of the lease, by default a third of it. `keep`: how long a finished chain is kept
        (None: without end). `on_blocker_failure`: what happens to a job whose blocker failed. `executor`: where a plain
        function runs. For options that are None, the worker decides.
        """
        if unknown:
            known = ("name", *(field.name for field in dataclasses.fields(TypeOptions)))
            refuse_unknown("jobs.job" if self._handled else "jobs.declare", unknown, known=known)
        if function is not None:
            return self._declare(function)
        options = TypeOptions(
            retry, lease, timeout, priority, keep, on_blocker_failure, executor, renew_interval
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
        name = _checked(function.__name__ if self._name is None else self._name)
        declared: AnyJobType = JobType(
            function, name=name, options=self._options, limit=self._jobs.payload_limit, handled=self._handled
        )
        self._jobs.add(declared)
        return declared


def _is_method(function: Callable[..., Any]) -> bool:
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), None)
    return first in ("self", "cls") and owner != "" and not owner.endswith("<locals>")


def _checked(name: str) -> str:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the name of a job type must be a str, not {type(name).__name__}")
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"the name of a job type has 1 to {MAX_NAME} printable characters, unlike {name!r:.60}")
    return name
