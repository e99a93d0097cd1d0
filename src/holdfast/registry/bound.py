"""Bound calls: calls of job types with checked arguments."""

from __future__ import annotations

from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Unpack, overload

import msgspec

from holdfast.core.lanes import LaneRule
from holdfast.core.retry import Seconds
from holdfast.registry.options import (
    After,
    Dedup,
    Exclude,
    OnBlockerFailure,
    StartKeywords,
    StartKeywordsWithoutAfter,
    StartOptions,
    When,
    ids_of,
)
from holdfast.registry.type_parameters import NoneRequired, R, R_co, Required

if TYPE_CHECKING:
    from holdfast.registry.job_type import AnyJobType

AS_DECLARED = StartOptions()
"""The start options of a call that was given none."""


class Bound(msgspec.Struct, Generic[R_co, Required], frozen=True, eq=False, gc=False, repr_omit_defaults=True):
    """A call of a job type with checked arguments. It can be started, or returned as a continuation.

    R is the output of the chain that begins with it. If the type declares blockers, the second parameter is the type of
    `after`, which must be given before it is started. It is immutable, and may be started more than once.
    """

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(GenericAlias)

    __holdfast_bound__: ClassVar = True

    type: AnyJobType
    input: bytes
    start_options: StartOptions = AS_DECLARED
    lanes: tuple[LaneRule, ...] = ()
    """The lanes of this call. They depend on the arguments only, and are found once."""

    @overload
    def options(self: Bound[R, NoneRequired], **options: Unpack[StartKeywords]) -> Bound[R]: ...

    @overload
    def options(
        self: Bound[R, Required], *, after: Required, **options: Unpack[StartKeywordsWithoutAfter]
    ) -> Bound[R]: ...

    def options(
        self,
        *,
        key: str | None = None,
        dedup: Dedup | None = None,
        window: Seconds | None = None,
        exclude: Exclude = (),
        delay: Seconds | None = None,
        at: datetime | None = None,
        priority: int | None = None,
        max_attempts: int | None = None,
        timeout: Seconds | None = None,
        after: After | Any = (),
        id: str | None = None,
        on_blocker_failure: OnBlockerFailure | None = None,
        when: When | None = None,
        replace: bool | None = None,
        debounce: Seconds | None = None,
        debounce_max: Seconds | None = None,
        shard: str | None = None,
    ) -> Bound[Any]:
        """The same call with these start options. Options that are not given do not change."""
        old = self.start_options
        new = StartOptions(
            key=old.key if key is None else key,
            dedup=old.dedup if dedup is None else dedup,
            window=old.window if window is None else window,
            exclude=ids_of(exclude, option="exclude") or old.exclude,
            delay=old.delay if delay is None else delay,
            at=old.at if at is None else at,
            priority=old.priority if priority is None else priority,
            max_attempts=old.max_attempts if max_attempts is None else max_attempts,
            timeout=old.timeout if timeout is None else timeout,
            after=ids_of(after, option="after") or old.after,
            id=old.id if id is None else id,
            on_blocker_failure=old.on_blocker_failure if on_blocker_failure is None else on_blocker_failure,
            when=old.when if when is None else when,
            replace=old.replace if replace is None else replace,
            debounce=old.debounce if debounce is None else debounce,
            debounce_max=old.debounce_max if debounce_max is None else debounce_max,
            shard=old.shard if shard is None else shard,
        )
        return Bound(self.type, self.input, new, self.lanes)

    def __repr__(self) -> str:
        # Without the payload: it may contain secrets, and a repr may appear in logs.
        return f"<Bound {self.type.name}>"


AnyBound = Bound[Any, Any]
"""A bound call, whether or not its blockers are named yet."""
