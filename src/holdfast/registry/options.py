"""The options of job types and of starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol, TypedDict, get_args

import msgspec

from holdfast.codec.storable_values import unstorable
from holdfast.core.defaults import KEEP
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.registry.declared_blockers import declared_blockers
from holdfast.registry.failure_hooks import check_hook

if TYPE_CHECKING:
    from holdfast.registry.job_type import AnyJobType

if TYPE_CHECKING:
    from holdfast.registry.limits import AnyLimit

Dedup = Literal["incomplete", "any"]
OnBlockerFailure = Literal["wait", "fail"]
When = Literal["completed", "failed", "ended"]
Executor = Literal["thread", "process"]

_DEDUP: tuple[str, ...] = get_args(Dedup)
_WHEN: tuple[str, ...] = get_args(When)
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


class ContinueKeywordsWithoutAfter(TypedDict, total=False):
    """The options of `continue_with` besides `after`."""

    delay: Seconds | None
    at: datetime | None
    priority: int | None
    when: When | None


class ContinueKeywords(ContinueKeywordsWithoutAfter, total=False):
    """The options of `continue_with`."""

    after: After


class StartKeywordsWithoutAfter(ContinueKeywordsWithoutAfter, total=False):
    """The options of `start` besides `after`."""

    key: str | None
    dedup: Dedup | None
    window: Seconds | None
    exclude: Exclude
    max_attempts: int | None
    timeout: Seconds | None
    id: str | None
    on_blocker_failure: OnBlockerFailure | None
    replace: bool | None
    debounce: Seconds | None
    debounce_max: Seconds | None
    shard: str | None


class StartKeywords(StartKeywordsWithoutAfter, total=False):
    """The options of `start`."""

    after: After


START_KEYWORDS: tuple[str, ...] = tuple(sorted(StartKeywords.__optional_keys__))


class TypeKeywords(TypedDict, total=False):
    """The options of `@jobs.job` besides `blockers`."""

    name: str | None
    retry: Retry | None
    lease: Seconds | None
    renew_interval: Seconds | None
    timeout: Seconds | None
    priority: int
    keep: Seconds | None
    on_blocker_failure: OnBlockerFailure
    executor: Executor
    on_failure: AnyJobType | None
    limits: Iterable[AnyLimit]


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
    on_failure: AnyJobType | None = None
    limits: Iterable[AnyLimit] = ()
    blockers: object = None
    """The types of its blockers: a tuple of job types, or `each(TYPE)`."""

    def __post_init__(self) -> None:
        if self.retry is not None and not isinstance(self.retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"retry must be a Retry, not {type(self.retry).__name__}")
        check_renewal(self.lease, self.renew_interval)
        check_duration("timeout", self.timeout)
        check_duration("keep", self.keep, zero=True)
        _check_priority(self.priority)
        check_choice("on_blocker_failure", self.on_blocker_failure, _ON_BLOCKER_FAILURE)
        check_choice("executor", self.executor, _EXECUTOR)
        if self.on_failure is not None:
            check_hook(self.on_failure)
        declared_blockers(self.blockers)


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
    when: When | None = None
    replace: bool = False
    debounce: Seconds | None = None
    debounce_max: Seconds | None = None
    shard: str | None = None

    def __post_init__(self) -> None:
        check_text("key", self.key)
        check_text("id", self.id)
        check_text("shard", self.shard)
        self._check_dedup()
        if self.replace is not False or self.debounce is not None or self.debounce_max is not None:
            self._check_collapsing()
        self._check_time()
        if self.priority is not None:
            _check_priority(self.priority)
        check_duration("timeout", self.timeout)
        _check_attempts(self.max_attempts)
        if self.on_blocker_failure is not None:
            check_choice("on_blocker_failure", self.on_blocker_failure, _ON_BLOCKER_FAILURE)
        if self.when is not None:
            self._check_when(self.when)

    def _check_when(self, when: When) -> None:
        check_choice("when", when, _WHEN)
        if when != "completed" and self.on_blocker_failure is not None:
            raise ValueError(f'on_blocker_failure is for jobs that wait for a completion, so it excludes when="{when}"')

    def _check_dedup(self) -> None:
        check_choice("dedup", self.dedup, _DEDUP)
        check_duration("window", self.window)
        if self.key is None and (self.window is not None or self.exclude or self.dedup != "incomplete"):
            raise ValueError("dedup, window and exclude need a key: they choose which chains with the same key count")

    def _check_collapsing(self) -> None:
        if not isinstance(self.replace, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"replace must be True or False, not {type(self.replace).__name__}")
        check_duration("debounce", self.debounce)
        check_duration("debounce_max", self.debounce_max)
        if self.debounce_max is not None and self.debounce is None:
            raise ValueError("debounce_max needs debounce: it limits how long a chain can be delayed")
        if self.key is None:
            option = "replace" if self.debounce is None else "debounce"
            raise ValueError(f"{option} needs a key: it changes the chain with the same key that has not begun")
        if self.dedup != "incomplete":
            raise ValueError(
                f'replace and debounce change a chain that has not begun, so they exclude dedup="{self.dedup}"'
            )
        if self.debounce is not None and (self.delay is not None or self.at is not None):
            raise ValueError("debounce says when the chain is due, so it excludes delay and at")

    @property
    def collapses(self) -> bool:
        """Whether the start changes a chain that has not begun, if there is one with its key."""
        return self.replace or self.debounce is not None

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
    if isinstance(chains, str) or not isinstance(chains, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{option} takes a list of chains or ids: put a single one into a list")
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


def check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(map(repr, choices))}, not {value!r}")
