"""The type parameters of attempts: `Attempt[Tx, Blockers, State]`, each with a default that behaves like Any.

Type checkers read them from typing_extensions, since Python has defaults of type parameters only from 3.13 on. At run
time `Attempt[...]` only keeps its arguments, so typing_extensions is not a dependency.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, overload

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    class Untyped(Any):  # type: ignore[misc]
        """The default of each parameter. It behaves like Any: every attribute exists, and every assignment is allowed.

        With Any itself, mypy could not choose between the overloads of `@jobs.job`, and `bind` would be unchecked.
        The methods make pyright infer Any and not Unknown.

        pyright would report `done.tx is None` as unnecessary. So `tx` of an attempt without parameters is Any: see
        `TxAttribute`. A default of `Untyped | Any` would do the same, but mypy would not check the arguments of `bind`.
        """

        def __getattr__(self, name: str, /) -> Any: ...
        def __getitem__(self, key: Any, /) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __untyped__(self) -> None:
            """Distinguishes it from other types: see registry/waiting_declaration.py."""

    Tx = TypeVar("Tx", default=Untyped, covariant=True)
    Blockers = TypeVar("Blockers", default=Untyped, covariant=True)
    State = TypeVar("State", default=Untyped, covariant=True)
    T = TypeVar("T")

    class TypedAttempt(Generic[Tx, Blockers, State]):
        """An attempt whose `done.tx` is a Tx, whose `blockers` are Blockers, and whose `state` is a State."""

        # Distinguishes attempts from all other parameters: see registry/waiting_declaration.py.
        __sizeof__: None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    class TypedDone(Generic[Tx]):
        """The completion of an attempt, whose `tx` is a Tx."""

    class TxAttribute:
        """The type of `done.tx`: Any for a plain `Attempt`, which may run on a store without transactions."""

        @overload
        def __get__(self, done: TypedDone[Untyped], kind: Any = None, /) -> Any: ...
        @overload
        def __get__(self, done: TypedDone[T], kind: Any = None, /) -> T: ...
        def __get__(self, done: Any, kind: Any = None, /) -> Any: ...

else:
    Tx = Blockers = State = Any

    class _Subscriptable:
        __class_getitem__ = classmethod(GenericAlias)

    class TypedAttempt(_Subscriptable):
        """An attempt: `Attempt[...]` takes one to three arguments."""

    class TypedDone(_Subscriptable):
        """The completion of an attempt."""
