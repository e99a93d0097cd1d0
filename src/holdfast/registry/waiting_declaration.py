"""For type checkers only: the decorator of a job type that declares blockers.

At run time it is an ordinary `Declaration`. Type checkers use it to compare the annotation of the attempt with the
outputs of the blockers. For that, at most one overload may match a handler. If the overload for functions without an
attempt accepted an attempt too, a wrong annotation would not be an error, and mypy would infer Any for a right one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Protocol, TypeVar, final, overload

from holdfast.registry.job_type import JobType
from holdfast.registry.type_parameters import P, Q, Required, T_co

if TYPE_CHECKING:
    from holdfast.worker.attempt import Attempt
    from holdfast.worker.attempt_types import Untyped
    from holdfast.worker.sync_attempt import SyncAttempt

T = TypeVar("T")
Outputs = TypeVar("Outputs")
A_contra = TypeVar("A_contra", contravariant=True)


@final
class Anything:
    """Matches only a first parameter of type Any or object."""


class Ordinary(Protocol):
    """Every object except an attempt, which is declared without this method."""

    def __sizeof__(self) -> int: ...


class UntypedBlockers(Protocol):
    """The default of the parameter Blockers."""

    def __untyped__(self) -> None: ...


class UntypedAttempt(Protocol):
    """An attempt without an annotation of its blockers."""

    @property
    def blockers(self) -> UntypedBlockers: ...


First = TypeVar("First", bound=Ordinary | None)
First_contra = TypeVar("First_contra", bound=Ordinary | None, contravariant=True)
Untyped_ = TypeVar("Untyped_", bound=UntypedAttempt)
Untyped_contra = TypeVar("Untyped_contra", bound=UntypedAttempt, contravariant=True)


# Two overloads: a function must match both. The first one keeps the names of its parameters, and the second one checks
# the type of the first parameter.
class WithoutAttempt(Protocol[P, T_co, First_contra, Q]):  # pyright: ignore[reportInvalidTypeVarUse]
    """A function with at least one positional parameter, the first of which is not an attempt."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co: ...

    @overload
    def __call__(self, first: First_contra, /, *args: Q.args, **kwargs: Q.kwargs) -> T_co: ...


class WithUntypedAttempt(Protocol[A_contra, P, T_co, Untyped_contra, Q]):  # pyright: ignore[reportInvalidTypeVarUse]
    """A function that takes an attempt A without an annotation of its blockers."""

    @overload
    def __call__(self, attempt: A_contra, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...

    @overload
    def __call__(self, attempt: Untyped_contra, /, *args: Q.args, **kwargs: Q.kwargs) -> T_co: ...


class WaitingDeclaration(Generic[Outputs, Required]):
    """A decorator that declares job types with blockers. `Outputs` are the outputs of the blockers, as a tuple.

    A function with keyword-only parameters alone is not accepted: let it take an attempt.
    """

    @overload
    def __call__(self, function: Callable[Concatenate[Anything, P], T], /) -> JobType[..., ..., T, Required]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Attempt[Untyped, Outputs, Untyped], P], T], /
    ) -> JobType[P, Concatenate[Attempt, P], T, Required]: ...

    @overload
    def __call__(
        self, function: WithUntypedAttempt[Attempt, P, T, Untyped_, Q], /
    ) -> JobType[P, Concatenate[Attempt, P], T, Required]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncAttempt[Untyped, Outputs, Untyped], P], T], /
    ) -> JobType[P, Concatenate[SyncAttempt, P], T, Required]: ...

    @overload
    def __call__(
        self, function: WithUntypedAttempt[SyncAttempt, P, T, Untyped_, Q], /
    ) -> JobType[P, Concatenate[SyncAttempt, P], T, Required]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: WithoutAttempt[P, T, First, Q], /
    ) -> JobType[P, P, T, Required]: ...

    @overload
    def __call__(self, function: Callable[[], T], /) -> JobType[[], [], T, Required]: ...

    def __call__(self, function: Any, /) -> Any:
        """Declare the function as a job type."""
        raise NotImplementedError
