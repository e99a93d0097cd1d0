"""Declarations of limits, rates and orders, and the lanes of a bound call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, cast, get_args

from holdfast.codec.codec import ENCODER
from holdfast.codec.storable_values import unstorable
from holdfast.core.clock import duration
from holdfast.core.lanes import LaneKind, LaneRule, lane_id
from holdfast.core.retry import Seconds, seconds
from holdfast.registry.options import MAX_TEXT, check_duration

By = str | Sequence[str] | Callable[..., Any] | None
Weight = str | Callable[..., int] | None

MAX_NAME = 200
MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `number` jobs at once in the whole fleet, over all job types that use the limit; with `by`, per key.

    `by`: a parameter name, a list of names, or a function that is called with all parameters as keywords. 0 pauses.
    """

    kind: ClassVar[LaneKind] = "limit"
    name: str
    number: int
    by: By = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_number(self.name, self.number)
        object.__setattr__(self, "by", _checked_by(self.name, self.by))

    def rule(self, lane: str, weight: int) -> LaneRule:
        return LaneRule(lane, "limit", self.number)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` attempts at once, then one every `per / number` seconds, over all job types that use the rate.

    With `by`, per key. `weight`: a parameter name or a function; one attempt counts as this many. The number 0 pauses.
    """

    kind: ClassVar[LaneKind] = "rate"
    name: str
    number: int
    per: Seconds
    burst: int = 1
    by: By = None
    weight: Weight = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_number(self.name, self.number)
        check_duration("per", self.per)
        if isinstance(self.burst, bool) or not isinstance(self.burst, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"rate {self.name!r}: burst must be an int, not {type(self.burst).__name__}")
        if not 1 <= self.burst <= MAX_NUMBER:
            raise ValueError(f"rate {self.name!r}: burst must be at least 1, not {self.burst}")
        object.__setattr__(self, "by", _checked_by(self.name, self.by))
        if self.weight is not None and not isinstance(self.weight, str) and not callable(self.weight):
            raise TypeError(f"rate {self.name!r}: weight is a parameter name or a function")

    def rule(self, lane: str, weight: int) -> LaneRule:
        per = duration(seconds(self.per))
        return LaneRule(lane, "rate", self.number, per=per, burst=self.burst, weight=weight)


OnFailure = Literal["hold", "skip"]
Span = Literal["job", "chain"]


@dataclass(frozen=True, slots=True)
class Order:
    """One job at a time, in the order of their start; with `by`, per key.

    `on_failure`: whether a failed job holds the lane until it is retried, deleted or skipped ("hold"), or not ("skip").
    `span`: a job holds the lane until it ends ("job"), or until its chain ends ("chain").
    """

    kind: ClassVar[LaneKind] = "order"
    name: str
    by: By = None
    on_failure: OnFailure = "hold"
    span: Span = "job"
    number: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_name(self.name)
        for option, value, choices in (
            ("on_failure", self.on_failure, get_args(OnFailure)),
            ("span", self.span, get_args(Span)),
        ):
            if value not in choices:
                raise ValueError(
                    f"order {self.name!r}: {option} is one of {', '.join(map(repr, choices))}, not {value!r}"
                )
        object.__setattr__(self, "by", _checked_by(self.name, self.by))

    def rule(self, lane: str, weight: int) -> LaneRule:
        return LaneRule(lane, "order", hold=self.on_failure == "hold", chain=self.span == "chain")


AnyLimit = Limit | Rate | Order


class QueuePayload(NamedTuple):
    """The payload of a named queue, in place of arguments by name."""

    value: Any


def checked_limits(limits: Iterable[AnyLimit], parameters: Iterable[str] | None, *, owner: str) -> tuple[AnyLimit, ...]:
    """The limits of a job type. ValueError for an unknown parameter and for a name that occurs twice.

    `parameters` is None for a named queue: there `by` and `weight` are functions of the payload.
    """
    if isinstance(limits, AnyLimit):
        raise TypeError(f"{owner}: limits takes a list of Limit, Rate and Order")
    declared = tuple(limits)
    names: set[str] = set()
    for limit in declared:
        if not isinstance(limit, AnyLimit):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{owner}: limits takes a list of Limit, Rate and Order, not {type(limit).__name__}")
        if limit.name in names:
            raise ValueError(f"{owner}: limits has {limit.name!r} twice")
        names.add(limit.name)
        for option in ("by", "weight"):
            _check_parameters(getattr(limit, option, None), parameters, where=f"{owner}: {limit.name!r}: {option}")
    return declared


def lanes_of_call(
    limits: Sequence[AnyLimit], arguments: Mapping[str, Any] | QueuePayload, *, owner: str
) -> tuple[LaneRule, ...]:
    """The lanes of a call with these arguments. ValueError if `by` or `weight` raises or returns an invalid value.

    `arguments` are the parameters by name, or the payload of a named queue.
    """
    return tuple(_lane_of_call(limit, arguments, owner=owner) for limit in limits)


def fair_lane(limits: Sequence[AnyLimit], rules: Sequence[LaneRule]) -> str:
    """The lane that counts for fairness: that of the first limit with `by`, otherwise that of the first limit."""
    place = next((place for place, limit in enumerate(limits) if limit.by is not None), 0)
    return rules[place].lane


def check_number(name: str, number: object) -> None:
    """Refuse a number that is not a valid limit. 0 is valid, and pauses."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"limit {name!r}: its number must be an int, not {type(number).__name__}")
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"limit {name!r}: its number must be at least 0 (0 pauses) and fit 32 bits, not {number}")


def _lane_of_call(limit: AnyLimit, arguments: Any, *, owner: str) -> LaneRule:
    where = f"{owner}: {limit.name!r}"
    key = "" if limit.by is None else _key_text(_evaluate(limit.by, arguments, where=f"{where}: by"), where=where)
    weight = 1
    if isinstance(limit, Rate) and limit.weight is not None:
        weight = _evaluate(limit.weight, arguments, where=f"{where}: weight")
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 0:
            raise ValueError(f"{where}: a weight is an int of at least 0")
        if weight > limit.burst:
            raise ValueError(
                f"{where}: a weight of {weight} is more than the burst of {limit.burst}: it could never start"
            )
    return limit.rule(lane_id(limit.name, key), weight)


def _evaluate(by: str | Sequence[str] | Callable[..., Any], arguments: Any, *, where: str) -> Any:
    if isinstance(by, str):
        return arguments[by]
    if not callable(by):
        return [arguments[name] for name in by]
    try:
        return by(arguments.value) if isinstance(arguments, QueuePayload) else by(**arguments)
    except Exception as error:
        raise ValueError(f"{where} raised {type(error).__name__}") from error


def _key_text(value: Any, *, where: str) -> str:
    """A string as it is, anything else as compact JSON."""
    try:
        text = value if isinstance(value, str) else ENCODER.encode(value).decode()
    except Exception as error:
        raise ValueError(f"{where}: by gives a {type(value).__name__}, which cannot be a key") from error
    if len(text) > MAX_TEXT:
        raise ValueError(f"{where}: its key has {len(text)} characters; at most {MAX_TEXT} are allowed")
    if reason := unstorable(text):
        raise ValueError(f"{where}: its key: {reason}")
    return text


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a limit must be a str, not {type(name).__name__}")
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"the name of a limit has 1 to {MAX_NAME} printable characters, unlike {name!r:.60}")


def _checked_by(name: str, by: object) -> By:
    if by is None or isinstance(by, str) or callable(by):
        return by
    if isinstance(by, Sequence):
        names = tuple(each for each in cast("Sequence[object]", by) if isinstance(each, str))
        if names and len(names) == len(cast("Sequence[object]", by)):
            return names
    raise TypeError(f"limit {name!r}: by is a parameter name, a list of names, or a function")


def _check_parameters(given: Any, parameters: Iterable[str] | None, *, where: str) -> None:
    if given is None:
        return
    if parameters is None:
        if not callable(given):
            raise TypeError(f"{where} of a named queue is a function of the payload")
        return
    known = list(parameters)
    if callable(given):
        try:
            inspect.signature(given).bind(**dict.fromkeys(known))
        except TypeError as error:
            raise ValueError(
                f"{where} is called with the parameters {', '.join(known) or '(none)'} as keywords: {error}"
            ) from None
        except ValueError:
            pass  # a builtin without a signature
        return
    for name in (given,) if isinstance(given, str) else given:
        if name not in known:
            raise ValueError(f"{where}: there is no parameter {name!r}; there are {', '.join(known) or 'none'}")
