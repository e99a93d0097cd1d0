"""Whether one annotation is assignable to another, as for a type checker.

The check has only runtime information, so it is lenient: it refuses only what is certainly wrong.
"""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin, is_typeddict

from holdfast.codec.annotations import members

_WIDENED: dict[type[Any], tuple[type[Any], ...]] = {
    float: (int,),
    complex: (int, float),
    bytes: (bytearray, memoryview),
}
"""Classes that type checkers accept for another class although they are not subclasses of it."""


def assignable(given: Any, wanted: Any) -> bool:
    """Whether `given` fits `wanted`: equal, a subclass, Any on either side, or a union of these. If unknown, True."""
    if given is wanted:
        return True
    given, wanted = _plain(given), _plain(wanted)
    if given is wanted or Any in (given, wanted) or wanted is object:
        return True
    if len(of := members(given)) > 1:
        return all(assignable(each, wanted) for each in of)
    if get_origin(given) is Literal and len(get_args(given)) > 1:
        return all(assignable(Literal[value], wanted) for value in get_args(given))
    if len(of := members(wanted)) > 1:
        return any(assignable(given, each) for each in of)
    if get_origin(given) is Literal:
        return _literal(get_args(given)[0], wanted)
    if get_origin(wanted) is Literal:
        return any(type(value) is given for value in get_args(wanted))
    return _class_fits(given, wanted)


def _plain(annotation: Any) -> Any:
    """An annotation without metadata and aliases."""
    if annotation is None:
        return NoneType
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif (named := getattr(annotation, "__value__", getattr(annotation, "__supertype__", None))) is not None:
            annotation = named
        else:
            return annotation


def _literal(value: object, wanted: Any) -> bool:
    return value in get_args(wanted) if get_origin(wanted) is Literal else _class_fits(type(value), wanted)


def _class_fits(given: Any, wanted: Any) -> bool:
    ours, theirs = get_origin(given) or given, get_origin(wanted) or wanted
    if not (isinstance(ours, type) and isinstance(theirs, type)):
        return True
    if is_typeddict(theirs):
        # A TypedDict is checked by its keys, not by its class.
        return issubclass(cast("type[Any]", ours), dict)
    if issubclass(cast("type[Any]", ours), _WIDENED.get(cast("type[Any]", theirs), ())):
        return True
    if _generic(ours) is not None and _generic(ours) is _generic(theirs):
        return True
    try:
        fits = issubclass(cast("type[Any]", ours), cast("type[Any]", theirs))
    except TypeError:  # a protocol that does not support issubclass
        return True
    return fits and (ours is not theirs or _parts_fit(get_args(given), get_args(wanted)))


def _generic(model: Any) -> Any:
    """The generic pydantic model of a parametrized one, or the model itself."""
    made_of = getattr(model, "__pydantic_generic_metadata__", None)
    return None if made_of is None else made_of["origin"] or model


def _parts_fit(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    if len(given) != len(wanted) or ... in (*given, *wanted):
        return True
    return all(assignable(*pair) for pair in zip(given, wanted, strict=True))
