"""The signature of a function as the contract of a job type: parameters are the input, the return type the output."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, cast, get_args, get_origin

import msgspec
from msgspec.structs import astuple

from holdfast.codec.annotations import members, name_of, resolve, union
from holdfast.codec.codec import ENCODER, Codec, TypeCodec, WrongType, codec_for
from holdfast.codec.storable_values import exceeds_limits
from holdfast.codec.unions import UnionCodec
from holdfast.errors import PayloadRefused, WrongArguments

_VARIADIC: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
# Immutable defaults need no factory.
_IMMUTABLE = (int, str, float, bool, bytes, type(None))


class Signature:
    """The parameters and the return type of a function, without its attempt.

    `bind` checks and encodes arguments; `arguments` decodes them for the call.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        hints = resolve(function)
        parameters = list(inspect.signature(function).parameters.values())
        first = hints.get(parameters[0].name) if parameters else None
        self.attempt = attempt_of(first)
        self.attempt_arguments: tuple[Any, ...] = get_args(first) if self.attempt is not None else ()
        """The arguments of `Attempt[Tx, Blockers, State]`, as far as they are given."""
        self.takes_attempt = self.attempt is not None
        self.is_async = inspect.iscoroutinefunction(function)
        self._check_attempt()
        self.parameters = {each.name: each for each in parameters[1 if self.takes_attempt else 0 :]}
        self.annotations = {each: hints.get(each, Any) for each in self.parameters}
        self.returns = output_type(hints.get("return", Any))
        self.continues = continued_type(hints.get("return", Any))
        """The output type of allowed continuations. None: it may not continue. Any: there is no annotation."""
        self.codecs = {each: self._codec(each) for each in self.parameters}
        self.output = self._output_codec()
        self._bound = inspect.Signature(list(self.parameters.values()))
        self._positional = sum(each.kind is not Parameter.KEYWORD_ONLY for each in self.parameters.values())
        self._keyword_only = tuple(self.parameters)[self._positional :]
        self._positional_only = frozenset(
            each.name for each in self.parameters.values() if each.kind is Parameter.POSITIONAL_ONLY
        )
        self._unions = tuple(each for each, codec in self.codecs.items() if isinstance(codec, UnionCodec))
        self._all_positional = not self._keyword_only and not self._unions
        self._values = self._struct()
        self._input = TypeCodec(self._values, limit=limit)
        self._read = self._input.decoder.decode

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """The arguments with defaults, as a payload. WrongArguments and PayloadRefused name the argument."""
        if not self._unions and self._positional_only.isdisjoint(kwargs):
            try:
                values = self._values(*args, **kwargs)
                payload = ENCODER.encode(values)
                if self._read(payload) == values and self._input.is_safe(payload, values):
                    return payload
            except Exception:  # noqa: S110 - the slow path reports the reason
                pass
        return self._bind_slowly(args, kwargs)

    def parse(self, text: bytes) -> bytes:
        """Check an input in JSON and add defaults, as `bind` does for arguments."""
        if reason := exceeds_limits(text, self.limit):
            raise PayloadRefused(f"{self.name}: {reason}")
        args, kwargs = self.arguments(text)
        return self.bind(args, kwargs)

    def arguments(self, payload: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for the call. Raises PayloadRefused if the payload does not match the parameters."""
        if self._all_positional:
            try:
                return astuple(self._read(payload)), {}
            except (ValueError, RecursionError):
                pass  # the slow path reports the reason
        values = self._in_order(payload)
        by_name = dict(zip(self._keyword_only, values[self._positional :], strict=True))
        return values[: self._positional], by_name

    def values(self, payload: bytes) -> dict[str, Any]:
        """The values of a payload by parameter name."""
        return dict(zip(self.parameters, self._in_order(payload), strict=True))

    def differences(self, other: Signature, annotated: Mapping[str, Any]) -> list[str]:
        """The differences between `other` and this signature. Parameters without a written annotation match."""
        ours, theirs = list(self.parameters), list(other.parameters)
        if ours != theirs:
            return [f"its parameters are ({', '.join(theirs)}), declared are ({', '.join(ours)})"]
        found = [
            f"parameter {each!r} is {name_of(other.annotations[each])}, declared is {name_of(self.annotations[each])}"
            for each in ours
            if each in annotated and other.annotations[each] != self.annotations[each]
        ]
        found += [
            f"parameter {each!r} is {other.parameters[each].kind.description},"
            f" declared is {self.parameters[each].kind.description}"
            for each in ours
            if other.parameters[each].kind is not self.parameters[each].kind
        ]
        if "return" in annotated and other.returns != self.returns:
            found.append(f"it returns {name_of(other.returns)}, declared is {name_of(self.returns)}")
        return found

    def _in_order(self, payload: bytes) -> tuple[Any, ...]:
        """The values of a payload, in the order of the parameters."""
        try:
            values = astuple(self._input.decode(payload))
            if not self._unions:
                return values
            return tuple(map(self._union_value, self.parameters, values))
        except PayloadRefused as refusal:
            raise type(refusal)(f"{self.name}: the input {refusal}") from refusal

    def _union_value(self, parameter: str, value: Any) -> Any:
        # A default is already a value.
        raw = parameter in self._unions and isinstance(value, msgspec.Raw)
        return self.codecs[parameter].decode(bytes(value)) if raw else value

    def _bind_slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        try:
            bound = self._bound.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(f"{self.name}: {error}") from None
        bound.apply_defaults()
        parts = [self._part(each, value) for each, value in bound.arguments.items()]
        payload = b"{" + b",".join(parts) + b"}"
        if reason := exceeds_limits(payload, self.limit):
            raise PayloadRefused(f"{self.name}: {reason}")
        return payload

    def _part(self, parameter: str, value: Any) -> bytes:
        try:
            return ENCODER.encode(parameter) + b":" + self.codecs[parameter].encode(value)
        except PayloadRefused as refusal:
            # A wrong type is WrongArguments. A value of the right type that cannot be stored is PayloadRefused.
            kind = WrongArguments if isinstance(refusal, WrongType) else PayloadRefused
            raise kind(f"{self.name}: argument {parameter!r}: {refusal}") from None

    def _check_attempt(self) -> None:
        mark = getattr(self.attempt, "__holdfast_attempt__", None)
        if mark is not None and mark != ("async" if self.is_async else "sync"):
            wanted = "an async function takes an Attempt" if self.is_async else "a plain function takes a SyncAttempt"
            raise TypeError(f"{self.name}: {wanted}, not {name_of(self.attempt)}")

    def _codec(self, parameter: str) -> Codec:
        declared = self.parameters[parameter]
        if stars := _VARIADIC.get(declared.kind):
            raise TypeError(f"{self.name}: {stars}{parameter} cannot be part of a contract; name the parameters")
        if attempt_of(self.annotations[parameter]) is not None:
            raise TypeError(f"{self.name}: parameter {parameter!r}: the attempt must be the first parameter")
        try:
            codec = codec_for(self.annotations[parameter], limit=self.limit)
            if declared.default is not Parameter.empty:
                codec.encode(declared.default)
        except TypeError as error:
            raise TypeError(f"{self.name}: parameter {parameter!r}: {error}") from error
        except PayloadRefused as refusal:
            raise TypeError(f"{self.name}: parameter {parameter!r}: its default: {refusal}") from None
        return codec

    def _output_codec(self) -> Codec:
        try:
            return codec_for(self.returns, limit=self.limit)
        except TypeError as error:
            raise TypeError(f"{self.name}: its return type: {error}") from error

    def _struct(self) -> type[msgspec.Struct]:
        """One Struct with all parameters. msgspec creates, compares and decodes it faster than Python code."""
        struct = self._fields(tuple(self.parameters)[: self._positional], bases=())
        return self._fields(self._keyword_only, bases=(struct,)) if self._keyword_only else struct

    def _fields(self, names: Sequence[str], *, bases: tuple[type[msgspec.Struct], ...]) -> type[msgspec.Struct]:
        return msgspec.defstruct(
            "the parameters",
            [(each, *self._field(each)) for each in names],
            bases=bases or None,
            kw_only=bool(bases),
            forbid_unknown_fields=True,
        )

    def _field(self, parameter: str) -> tuple[Any, ...]:
        annotation = msgspec.Raw if parameter in self._unions else self.annotations[parameter]
        default = self.parameters[parameter].default
        if default is Parameter.empty:
            return (annotation,)
        if isinstance(default, _IMMUTABLE):
            return (annotation, default)
        return (annotation, msgspec.field(default_factory=lambda: default))


def attempt_of(annotation: Any) -> type[Any] | None:
    """The class of an attempt annotation; None for another annotation.

    The attribute `__holdfast_attempt__` ("async" or "sync") marks it: this layer must not import the worker.
    """
    cls = get_origin(annotation) or annotation
    marked = isinstance(cls, type) and getattr(cast("type[Any]", cls), "__holdfast_attempt__", False)
    return cast("type[Any]", cls) if marked else None


def output_type(annotation: Any) -> Any:
    """The output type of a chain: T for a handler that returns `T`, `Bound[T]` or `T | Bound[T]`."""
    written = members(annotation)
    outputs = tuple(_unbound(member) for member in written)
    found = annotation if outputs == written else union(outputs)
    return types.NoneType if found is None else found


def continued_type(annotation: Any) -> Any:
    """T for a handler that returns `Bound[T]`, alone or in a union; None for a handler that never continues."""
    written = members(annotation)
    bound = tuple(_unbound(member) for member in written if _is_bound(member))
    if bound:
        return union(bound)
    return Any if Any in written or object in written else None


def _unbound(annotation: Any) -> Any:
    if not _is_bound(annotation):
        return annotation
    return (get_args(annotation) or (Any,))[0]


def _is_bound(annotation: Any) -> bool:
    return bool(getattr(get_origin(annotation) or annotation, "__holdfast_bound__", False))
