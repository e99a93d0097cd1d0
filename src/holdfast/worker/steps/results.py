"""The codecs of results. The type comes from `returns=` or the return annotation; otherwise it is plain JSON."""

from __future__ import annotations

import collections.abc
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar, get_args, get_origin
from weakref import WeakKeyDictionary

from holdfast.codec.annotations import resolve
from holdfast.codec.codec import Codec, codec_for
from holdfast.core.steps import StepRow
from holdfast.errors import PayloadRefused

NOT_GIVEN: Final[Any] = object()
"""The default of an option: the caller did not pass it."""

SHOWN = 200
"""The maximum number of characters of a stored value in an error."""

_AWAITABLE = (collections.abc.Awaitable, collections.abc.Coroutine)

_codecs: WeakKeyDictionary[Any, Codec] = WeakKeyDictionary()
"""The codec of each function, for results without `returns=`."""


def result_codec(function: Callable[..., Any], returns: Any = NOT_GIVEN) -> Codec:
    """The codec of the results of a function. Raises TypeError if values of its type cannot be stored."""
    if returns is not NOT_GIVEN:
        return codec_for(returns)
    inner = _function_of(function)
    try:
        found = _codecs.get(inner)
    except TypeError:  # a weak reference to the function is not possible
        return codec_for(_returned(inner))
    if found is None:
        found = _codecs[inner] = codec_for(_returned(inner))
    return found


def encoded(name: str, codec: Codec, value: Any) -> bytes:
    """The result of a step as a payload. The text of PayloadRefused names the step."""
    try:
        return codec.encode(value)
    except PayloadRefused as refusal:
        raise PayloadRefused(
            f"the result of step {name!r}: {refusal}. Annotate the function, or give returns=, if it is not plain JSON"
        ) from refusal


def decoded(job_id: str, row: StepRow, codec: Codec) -> Any:
    """The value of a stored result. PayloadRefused names the step, the value and the command to run the step again."""
    assert row.result is not None
    try:
        return codec.decode(row.result)
    except PayloadRefused as refusal:
        text = row.result[: 4 * SHOWN].decode("utf-8", "replace")
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        named = repr(row.name) + (f", each={row.each}" if row.each else "")
        raise PayloadRefused(
            f"the stored result of step {named}, {shown}, {refusal}. To run the job again from this step, cancel it "
            f"and run `holdfast retry {job_id} --from-step {row.name}`"
        ) from refusal


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of the function returns a coroutine."""
    if isinstance(function, FunctionType) and function.__code__.co_flags & inspect.CO_COROUTINE:
        return True
    inner = _function_of(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - the method, not whether there is one


def _function_of(function: Callable[..., Any]) -> Any:
    """The function behind partial objects and methods."""
    if isinstance(function, FunctionType):
        return function
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    return getattr(inner, "__func__", inner)


def _returned(function: Any) -> Any:
    """What a call returns, or what awaiting its coroutine returns. Any without an annotation."""
    if inspect.isclass(function):
        return function
    if not hasattr(function, "__annotations__"):
        function = getattr(function.__class__, "__call__", None)  # noqa: B004 - the method, as above
    hints = resolve(function) if hasattr(function, "__annotations__") else {}
    annotation = hints.get("return", Any)
    if get_origin(annotation) in _AWAITABLE and not inspect.iscoroutinefunction(function):
        annotation = get_args(annotation)[-1]
    return Any if annotation is object or isinstance(annotation, TypeVar) else annotation
