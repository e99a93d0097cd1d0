"""Reads type annotations: their names, their union members, and the constraints in them."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

_UNIONS = (Union, types.UnionType)
# msgspec decodes these as a list or a set, independent of the container that was encoded.
_ABSTRACT = (
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
)


def resolve(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, with strings evaluated. The TypeError names the parameter that failed."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        for name, written in function.__annotations__.items():
            try:
                alone = types.SimpleNamespace(__annotations__={name: written})
                typing.get_type_hints(alone, globalns=getattr(function, "__globals__", {}), include_extras=True)
            except Exception as cause:
                where = "the return annotation" if name == "return" else f"parameter {name!r}"
                raise TypeError(
                    f"{function.__qualname__}: {where} is annotated {written!r}, which cannot be resolved"
                    f" ({cause}); it must be importable at run time, from the module of the function"
                ) from cause
        raise TypeError(f"{function.__qualname__}: its annotations cannot be resolved ({error})") from error


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, in order; the annotation itself if it is no union."""
    # `__value__` belongs to `type X = ...` statements, which the oldest supported Python does not have.
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) is Annotated:
        inner = members(get_args(annotation)[0])
        return inner if len(inner) > 1 else (annotation,)
    return get_args(annotation) if get_origin(annotation) in _UNIONS else (annotation,)


def union(of: tuple[Any, ...]) -> Any:
    """The union of some annotations."""
    return Union[of]  # noqa: UP007 - the members are known only at run time


def name_of(annotation: Any) -> str:
    """An annotation as source text, without module names."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is None or annotation is types.NoneType:
        return "None"
    if annotation is Ellipsis:
        return "..."
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is Annotated:
        return name_of(args[0])
    if origin in _UNIONS:
        return " | ".join(map(name_of, args))
    if origin is not None and args:
        return f"{name_of(origin)}[{', '.join(map(name_of, args))}]"
    return str(getattr(annotation, "__name__", annotation))


def has_abstract_sequence(annotation: Any) -> bool:
    """Whether a part of the annotation, fields of records included, is a sequence that is neither list nor tuple."""
    return any(get_origin(part) in _ABSTRACT or part in _ABSTRACT for part in _parts(annotation, set()))


def unenforced(annotation: Any) -> Any:
    """The first constraint of pydantic or annotated_types outside a pydantic model: no codec checks it. Else None."""
    return next(
        (
            constraint
            for part in _parts(annotation, set(), extras=True)
            if get_origin(part) is Annotated
            for constraint in part.__metadata__
            if _is_foreign_constraint(constraint)
        ),
        None,
    )


def _is_foreign_constraint(constraint: Any) -> bool:
    package = type(constraint).__module__.partition(".")[0]
    if package not in ("pydantic", "annotated_types"):
        return False
    # A pydantic Field without metadata is only a description, not a constraint.
    return bool(getattr(constraint, "metadata", True))


def _parts(annotation: Any, seen: set[int], *, extras: bool = False) -> Iterator[Any]:
    """Every part of an annotation, the fields of records included.

    `extras`: with the metadata of Annotated, and without the fields of pydantic's classes.
    """
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    yield annotation
    inner = list(get_args(annotation))
    owner: Any = get_origin(annotation) or annotation
    if isinstance(owner, type) and hasattr(cast("type[Any]", owner), "__annotations__"):
        inner += _hints(cast("type[Any]", owner), extras=extras)
    for part in inner:
        if not isinstance(part, TypeVar | str | int | bytes):
            yield from _parts(part, seen, extras=extras)


def _hints(owner: type[Any], *, extras: bool) -> list[Any]:
    if extras and hasattr(owner, "__pydantic_fields__"):
        return []
    try:
        return list(typing.get_type_hints(owner, include_extras=extras).values())
    except Exception:  # the class uses names that cannot be resolved here: its fields are unknown
        return []
