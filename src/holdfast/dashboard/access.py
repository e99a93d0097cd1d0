"""Who may see and change what."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from holdfast.client.references import type_names
from holdfast.registry.jobs import AnyJobType

Role = Literal["read", "operate", "admin"]
Field = Literal["input", "output", "error", "log"]
Redact = Callable[[Any, Field], Any]

ROLES: tuple[Role, ...] = ("read", "operate", "admin")
"""Each role may do everything that the roles before it may do."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a viewer may see and do.

    `role`: "read" sees; "operate" also retries, cancels, runs now, pauses, fires and sends; "admin" also deletes,
    changes limits and schedules, and drains workers. `user` is recorded in the audit. `types`: only jobs of these types
    are seen and changed; None means all. `redact(value, field)` returns what is shown instead of an input, an output,
    an error or a log; without it, values under the names of secrets are hidden in inputs and outputs.
    """

    role: Role
    user: str = ""
    types: Iterable[str | AnyJobType] | None = None
    redact: Redact | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, not {self.role!r}")
        if self.types is not None:
            if isinstance(self.types, str):
                raise TypeError(f"types must be a list of names, not the text {self.types!r}")
            object.__setattr__(self, "types", frozenset(type_names(self.types)))

    @property
    def allowed_types(self) -> frozenset[str] | None:
        """The names of the types; None means all."""
        return cast("frozenset[str] | None", self.types)

    def sees(self, *types: str) -> bool:
        """Whether jobs of all these types are seen."""
        allowed = self.allowed_types
        return allowed is None or allowed.issuperset(types)

    def may(self, role: Role) -> bool:
        """Whether the viewer may do what this role may do."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def limited_to(self, role: Role) -> Access:
        """The same access with at most this role."""
        return self if not self.may(role) else Access(role, self.user, self.types, self.redact)


Authorize = Callable[[Request], Access | Awaitable[Access | None] | None]


async def access_of(request: Request, authorize: Authorize) -> Access | None:
    """Call the application's function. A plain function runs in a thread: it may query a database."""
    called = authorize if inspect.isroutine(authorize) else type(authorize).__call__
    if inspect.iscoroutinefunction(called):
        answer = authorize(request)
    else:
        answer = await run_in_threadpool(authorize, request)
    access = await answer if inspect.isawaitable(answer) else answer
    if access is not None and not isinstance(access, Access):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"authorize must return an Access or None, not {type(access).__name__}")
    return access
