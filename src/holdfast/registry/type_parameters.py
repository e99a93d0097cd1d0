"""The type parameters of job types and bound calls.

Type checkers read the default of `Required` from typing_extensions, since Python has such defaults only from 3.13 on.
At run time a subscription only names its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, final

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)


@final
class NoneRequired:
    """Stands for a bound call that can be started: its type declares no blockers, or `after` has named them."""


if TYPE_CHECKING:
    import typing_extensions

    # Invariant: `after` must then have exactly the type of the bound call, and not a type that both have in common.
    Required = typing_extensions.TypeVar("Required", default=NoneRequired)
else:
    Required = TypeVar("Required")
