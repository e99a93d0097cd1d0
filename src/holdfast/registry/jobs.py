"""The registry of job types."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from holdfast.codec.codec import codec_for, plain
from holdfast.codec.storable_values import DEFAULT_LIMIT, HARD_LIMIT
from holdfast.errors import DuplicateJobType, UnknownJobType
from holdfast.registry.bound import AnyBound, Bound
from holdfast.registry.declaration import Declaration, checked_name
from holdfast.registry.extensions import check_callables, check_lifespan, checked_plugins
from holdfast.registry.job_type import AnyJobType, JobType
from holdfast.registry.limits import AnyLimit
from holdfast.registry.plugin import Plugin
from holdfast.registry.schedules import Schedules

if TYPE_CHECKING:
    # Imported for type checkers only: the registry must not depend on the engine and the worker.
    from holdfast.engine.events import Event
    from holdfast.engine.observers import Observer
    from holdfast.worker import Middleware, Worker

__all__ = ["AnyBound", "AnyJobType", "Bound", "Declaration", "JobType", "Jobs"]


class Jobs(Schedules):
    """The job types of an application, each with a unique name, and what its workers need to run them.

    Job types are added while modules are imported. Afterwards any thread may read the registry. `name` identifies the
    registry in the store. `middlewares` wrap the attempts of every worker, and `observers` receive the events of
    clients and workers. `lifespan(worker)` is an async context manager that each worker enters before its first claim;
    its value is `attempt.state`. `plugins` combine these. `payload_limit` is the maximum number of JSON bytes of an
    input or output: 1 MiB by default, 16 MiB at most.
    """

    def __init__(
        self,
        name: str = "default",
        *,
        middlewares: Iterable[Middleware] = (),
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        lifespan: Callable[[Worker], AbstractAsyncContextManager[Any]] | None = None,
        plugins: Iterable[Plugin] = (),
        payload_limit: int = DEFAULT_LIMIT,
    ) -> None:
        super().__init__()
        if not 1 <= payload_limit <= HARD_LIMIT:
            raise ValueError(f"payload_limit must lie between 1 and {HARD_LIMIT:,} bytes, not {payload_limit:,}")
        self.name = checked_name(name, "a registry")
        self.middlewares = tuple(middlewares)
        self.observers = tuple(observers)
        self.lifespan = lifespan
        self.plugins = checked_plugins(plugins)
        check_callables("middlewares", self.middlewares)
        check_callables("observers", self.observers)
        check_lifespan(lifespan)
        self.payload_limit = payload_limit
        self.job = Declaration(self, handled=True)
        """Declares a job type and its function: `@jobs.job`, or with options, `@jobs.job(lease=60)`."""
        self.declare = Declaration(self, handled=False)
        """Declares a job type without a function: `@jobs.declare`. `@TYPE.handler` attaches the function."""
        self._types: dict[str, AnyJobType] = {}
        self._owners: dict[str, tuple[Jobs, ...]] = {}
        """The included registries that contain a type, outermost first. Types of this registry are not in it."""
        self.registries: tuple[Jobs, ...] = (self,)
        """This registry and those that it includes, outermost first."""
        self.has_plugins = bool(self.plugins)
        """Whether one of them has plugins."""
        self._limits: dict[str, AnyLimit] = {}
        self._untyped = codec_for(Any, limit=payload_limit)

    def add(self, job_type: AnyJobType) -> None:
        """Add a job type. Raises DuplicateJobType if another one has its name."""
        if self._types.get(job_type.name, job_type) is not job_type:
            raise DuplicateJobType(job_type.name)
        self._add_limits(job_type.limits)
        self._types[job_type.name] = job_type

    def include(self, other: Jobs) -> None:
        """Add every job type that `other` has now. The same job type may be added twice.

        The middlewares, observers, plugins and the lifespan of `other` apply to these types only.
        """
        for job_type in other:
            if self._types.get(job_type.name, job_type) is not job_type:
                raise DuplicateJobType(job_type.name)
        for name in other._types.keys() - self._types.keys():
            self._owners[name] = (other, *other._owners.get(name, ()))
        self._add_limits(other.limits)
        self.add_schedules(other.declared_schedules)
        self._types.update(other._types)
        self.registries += tuple(each for each in other.registries if each not in self.registries)
        self.has_plugins |= other.has_plugins

    def scope(self, type: str) -> tuple[Jobs, ...]:
        """The registries whose middlewares, observers and plugins apply to a type: this one, then included ones."""
        return (self, *self._owners.get(type, ()))

    def extended(self, other: Jobs) -> Jobs:
        """A copy of this registry with the job types of another."""
        copied = copy.copy(self)
        copied._types, copied._owners, copied._limits = {**self._types}, {**self._owners}, {**self._limits}
        copied.registries = (copied, *self.registries[1:])
        copied.include(other)
        return copied

    @property
    def limits(self) -> tuple[AnyLimit, ...]:
        """The limits, rates and orders that the job types use."""
        return tuple(self._limits.values())

    def _add_limits(self, limits: Iterable[AnyLimit]) -> None:
        for limit in limits:
            if self._limits.get(limit.name, limit) != limit:
                raise ValueError(f"the limit {limit.name!r} has two different definitions")
        self._limits.update({limit.name: limit for limit in limits})

    def get(self, name: str) -> AnyJobType | None:
        """The type with this name, or None."""
        return self._types.get(name)

    def __getitem__(self, name: str) -> AnyJobType:
        try:
            return self._types[name]
        except KeyError:
            raise UnknownJobType(name, self._types) from None

    def __contains__(self, job_type: object) -> bool:
        name = job_type.name if isinstance(job_type, JobType) else job_type
        return name in self._types

    def __iter__(self) -> Iterator[AnyJobType]:
        return iter(list(self._types.values()))

    def __len__(self) -> int:
        return len(self._types)

    def __bool__(self) -> bool:
        return True

    def input(self, type: str, stored: bytes) -> Any:
        """A stored input by parameter name. For an unknown type it returns plain JSON values."""
        known = self._types.get(type)
        return plain(stored) if known is None else known.decode_input(stored)

    def output(self, type: str, stored: bytes) -> Any:
        """A stored output. For an unknown type it returns plain JSON values."""
        known = self._types.get(type)
        return plain(stored) if known is None else known.decode_output(stored)

    def plain(self, value: Any) -> bytes:
        """Encode the output of an unknown type: plain JSON values only."""
        return self._untyped.encode(value)

    def __repr__(self) -> str:
        name = "" if self.name == "default" else f"{self.name}: "
        return f"<Jobs {name}{', '.join(self._types) or 'without types'}>"
