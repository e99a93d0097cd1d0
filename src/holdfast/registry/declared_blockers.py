"""Declared blockers: the types of the chains that each job of a type waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast, get_args, get_origin

from holdfast.codec.annotations import name_of
from holdfast.codec.assignability import assignable
from holdfast.errors import WrongBlockers
from holdfast.registry.type_parameters import R, R_co

if TYPE_CHECKING:
    from holdfast.registry.job_type import AnyJobType
    from holdfast.registry.signature import Signature

_SEQUENCES = (tuple, Sequence, Collection, Iterable)


class Gives(Protocol[R_co]):
    """A job type whose chains have the output R."""

    def __gives__(self) -> R_co: ...


@dataclass(frozen=True, slots=True, eq=False)
class Each(Generic[R_co]):
    """Any number of chains of one type, at least one."""

    type: AnyJobType


def each(type: Gives[R]) -> Each[R]:
    """Declares blockers of one type, as many as a start names: ``@jobs.job(blockers=each(extract))``.

    `attempt.blockers` is then a tuple of their outputs, `tuple[R, ...]`.
    """
    return Each(_checked(type))


@dataclass(frozen=True, slots=True)
class DeclaredBlockers:
    """The blockers of a job type."""

    types: tuple[AnyJobType, ...]
    repeated: bool
    """Any number of chains of the only type."""

    def types_of(self, owner: str, after: tuple[str, ...]) -> tuple[str, ...]:
        """The types that the chains in `after` must have. WrongBlockers if there are too few or too many."""
        if self.repeated and after:
            return (self.types[0].name,) * len(after)
        if not self.repeated and len(after) == len(self.types):
            return tuple(type.name for type in self.types)
        wanted = (
            f"chains of type {self.types[0].name}, at least one"
            if self.repeated
            else f"{len(self.types)} different chains, of type {', '.join(type.name for type in self.types)}"
        )
        given = f"names {len(after)}" if after else "is missing"
        raise WrongBlockers(owner, f"it is started with after=(...), a tuple of {wanted}; after {given}")

    def check_handler(self, owner: str, signature: Signature) -> None:
        """TypeError if the handler expects other outputs in `attempt.blockers`."""
        wanted = signature.attempt_arguments[1] if len(signature.attempt_arguments) > 1 else Any
        if not self._fit(wanted):
            outputs = [name_of(type.signature.returns) for type in self.types]
            given = f"tuple[{', '.join([*outputs, '...'] if self.repeated else outputs)}]"
            raise TypeError(f"{owner}: its blockers give {given}, and its attempt is annotated with {name_of(wanted)}")

    def _fit(self, wanted: Any) -> bool:
        if wanted is Any or wanted is object:
            return True
        if (get_origin(wanted) or wanted) not in _SEQUENCES:
            return False
        items = get_args(wanted)
        outputs = [type.signature.returns for type in self.types]
        if not items:
            return True
        if get_origin(wanted) is not tuple or items[-1] is Ellipsis:
            return all(assignable(output, items[0]) for output in outputs)
        return (
            not self.repeated
            and len(items) == len(outputs)
            and all(assignable(output, item) for output, item in zip(outputs, items, strict=True))
        )


def declared_blockers(given: object) -> DeclaredBlockers | None:
    """The value of `blockers=`, checked."""
    if given is None:
        return None
    if isinstance(given, Each):
        return DeclaredBlockers((given.type,), repeated=True)
    if not isinstance(given, tuple | list):
        raise TypeError(
            "blockers takes a tuple of job types, such as (extract, extract), or each(extract), "
            f"not {type(given).__name__}"
        )
    if not given:
        raise ValueError("blockers is empty: leave it out, or name the types of the chains to wait for")
    return DeclaredBlockers(tuple(_checked(item) for item in cast("Iterable[object]", given)), repeated=False)


def _checked(given: object) -> AnyJobType:
    if getattr(given, "signature", None) is None:
        raise TypeError(f"blockers are job types, not {type(given).__name__}")
    return cast("AnyJobType", given)
