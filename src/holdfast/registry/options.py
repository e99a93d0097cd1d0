"""The options of job types and of starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NoReturn, Protocol, TypedDict, get_args

import msgspec

from holdfast.codec.payload import unstorable
from holdfast.core.defaults import KEEP
from holdfast.core.retry import Retry, Seconds, seconds

Dedup = Literal["incomplete", "any"]
OnBlockerFailure = Literal["wait", "fail"]
Executor = Literal["thread", "process"]

_DEDUP: tuple[str, ...] = get_args(Dedup)
_ON_BLOCKER_FAILURE: tuple[str, ...] = get_args(OnBlockerFailure)
_EXECUTOR: tuple[str, ...] = get_args(Executor)

MAX_TEXT = 512
# Far below the values where microseconds and dates overflow.
_A_CENTURY = 100 * 365.25 * 86400


class Identified(Protocol):
    """An object with an id: a chain or a job."""

    @property
    def id(self) -> str: ...


Chains = Iterable[Identified | str]
After = Chains
Exclude = Chains


class ContinueKeywords(TypedDict, total=False):
    """The options of `continue_with`."""

    delay: Seconds | None
    at: datetime | None
    priority: int | None
    after: After


class StartKeywords(ContinueKeywords, total=False):
    """The options of `start`."""

    key: str | None
    dedup: Dedup | None
    window: Seconds | None
    exclude: Exclude
    max_attempts: int | None
    timeout: Seconds | None
    id: str | None
    on_blocker_failure: OnBlockerFailure | None


START_KEYWORDS: tuple[str, ...] = tuple(sorted(StartKeywords.__optional_keys__))


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """The options of a job type. None means the default of the worker; for `keep` it means without end."""

    retry: Retry | None = None
    lease: Seconds | None = None
    timeout: Seconds | None = None
    priority: int = 0
    keep: Seconds | None = KEEP
    on_blocker_failure: OnBlockerFailure = "wait"
    executor: Executor = "thread"
    renew_interval: Seconds | None = None

    def __post_init__(self) -> None:
        if self.retry is not None and not isinstance(self.retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"retry must be a Retry, not {type(self.retry).__name__}")
        check_renewal(self.lease, self.renew_interval)
        check_duration("timeout", self.timeout)
        check_duration("keep", self.keep, zero=True)
        _check_priority(self.priority)
        _check_choice("on_blocker_failure", self.on_blocker_failure, _ON_BLOCKER_FAILURE)
        _check_choice("executor", self.executor, _EXECUTOR)


class StartOptions(msgspec.Struct, frozen=True):
    """The options of one start. None means the option of the job type."""

    key: str | None = None
    dedup: Dedup = "incomplete"
    window: Seconds | None = None
    exclude: tuple[str, ...] = ()
    delay: Seconds | None = None
    at: datetime | None = None
    priority: int | None = None
    max_attempts: int | None = None
    timeout: Seconds | None = None
    after: tuple[str, ...] = ()
    id: str | None = None
    on_blocker_failure: OnBlockerFailure | None = None

    def __post_init__(self) -> None:
        check_text("key", self.key)
        check_text("id", self.id)
        self._check_dedup()
        self._check_time()
        if self.priority is not None:
            _check_priority(self.priority)
        check_duration("timeout", self.timeout)
        _check_attempts(self.max_attempts)
        if self.on_blocker_failure is not None:
            _check_choice("on_blocker_failure", self.on_blocker_failure, _ON_BLOCKER_FAILURE)

    def _check_dedup(self) -> None:
        _check_choice("dedup", self.dedup, _DEDUP)
        check_duration("window", self.window)
        if self.key is None and (self.window is not None or self.exclude or self.dedup != "incomplete"):
            raise ValueError("dedup, window and exclude say which chains with the same key count: give a key")

    def _check_time(self) -> None:
        if self.delay is not None and self.at is not None:
            raise ValueError("give either delay or at, not both")
        check_duration("delay", self.delay, zero=True)
        if self.at is not None and not isinstance(self.at, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"at must be a datetime, not {type(self.at).__name__}")
        if self.at is not None and self.at.utcoffset() is None:
            raise ValueError(f"at={self.at!r} has no time zone; use an aware datetime, such as datetime.now(UTC)")


def ids_of(chains: Chains, *, option: str) -> tuple[str, ...]:
    """The ids of chains, in order, without duplicates."""
    if chains == ():
        return ()
    if isinstance(chains, str):
        raise TypeError(f"{option} takes several chains or ids: wrap the one in a list")
    return tuple(dict.fromkeys(_id_of(chain, option) for chain in chains))


def _id_of(chain: Identified | str, option: str) -> str:
    found = chain if isinstance(chain, str) else getattr(chain, "id", None)
    if not isinstance(found, str) or not found:
        raise TypeError(f"{option} takes chains or their ids, not {type(chain).__name__}")
    check_text(option, found)
    return found


def check_text(option: str, value: str | None) -> None:
    """Refuse a text that some store could not keep: empty, too long, or with characters that cannot be stored."""
    if value is None:
        return
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{option} must be a str, not {type(value).__name__}")
    if not 1 <= len(value) <= MAX_TEXT:
        raise ValueError(f"{option} must have between 1 and {MAX_TEXT} characters, not {len(value)}")
    if not (value.isascii() and "\0" not in value) and (reason := unstorable(value)) is not None:
        raise ValueError(f"{option}: {reason}")


def check_duration(option: str, value: Seconds | None, *, zero: bool = False) -> None:
    """Refuse a value that is not a valid duration. None is accepted."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{option} must be seconds or a timedelta, not {type(value).__name__}")
    length = seconds(value)
    # The comparison is also False for NaN.
    if not 0 <= length <= _A_CENTURY or (length == 0 and not zero):
        least = "at least 0" if zero else "more than 0"
        raise ValueError(f"{option} must be {least} seconds, and at most a hundred years, not {value}")


def check_renewal(lease: Seconds | None, renew_interval: Seconds | None, *, names: str = "") -> None:
    """Refuse invalid durations, and a renewal interval that is not shorter than the lease."""
    check_duration("lease", lease)
    check_duration("renew_interval", renew_interval)
    if lease is not None and renew_interval is not None and seconds(renew_interval) >= seconds(lease):
        raise ValueError(
            f"{names}renew_interval ({seconds(renew_interval):g} s) must be shorter than the lease "
            f"({seconds(lease):g} s): the lease would end before it is renewed"
        )


def refuse_unknown(call: str, given: Iterable[str], *, known: Iterable[str]) -> NoReturn:
    """Raise TypeError for unknown keywords, and list the known ones."""
    names = ", ".join(map(repr, given))
    raise TypeError(f"{call} takes no {names}; it takes {', '.join(known)}")


def _check_priority(value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"priority must be an int, not {type(value).__name__}")
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"priority must fit 32 bits, not {value}")


def _check_attempts(value: int | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"max_attempts must be an int, not {type(value).__name__}")
    if not 1 <= value < 2**31:
        raise ValueError(f"max_attempts must be at least 1 and fit 32 bits, not {value}")


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(map(repr, choices))}, not {value!r}")
