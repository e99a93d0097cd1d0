"""Background tasks that are jobs: they are not lost if the process ends after the response."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, cast, overload

from holdfast.client.client import Client
from holdfast.registry.bound import Bound
from holdfast.registry.job_type import AnyJobType, JobType

if TYPE_CHECKING:
    from holdfast.contrib.sqlalchemy.starts_at_commit import StartsAtCommit

P = ParamSpec("P")


class DurableBackgroundTasks:
    """Collects jobs with the signature of `BackgroundTasks.add_task`, and starts them together.

    Without a session, the end of the `async with` block starts them, unless it raises. With a SQLAlchemy AsyncSession,
    the commit of its transaction starts them inside the transaction. A rollback or an error discards them.
    """

    def __init__(self, client: Client, session: Any = None) -> None:
        self._client = client
        self._tasks: list[Bound[Any]] = []
        self._at_commit: StartsAtCommit | None = None
        if session is not None:
            # SQLAlchemy is needed only here.
            from holdfast.contrib.sqlalchemy.starts_at_commit import starts_at_commit

            self._at_commit = starts_at_commit(client, session)

    @overload
    def add_task(self, func: JobType[P, ..., Any], /, *args: P.args, **kwargs: P.kwargs) -> None: ...

    @overload
    def add_task(self, func: Bound[Any], /) -> None: ...

    def add_task(self, func: Any, /, *args: Any, **kwargs: Any) -> None:
        """Add a job: ``tasks.add_task(send_email, "ada@example.org", template="welcome")``.

        The arguments are checked now. A bound call with options is accepted, too:
        ``tasks.add_task(send_email.bind(...).options(delay=60))``.
        """
        bound: Bound[Any]
        if isinstance(func, Bound):
            if args or kwargs:
                raise TypeError("a bound call has its arguments already: add_task(TYPE.bind(...))")
            bound = func  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(func, JobType):
            bound = cast("AnyJobType", func).bind(*args, **kwargs)
        else:
            raise TypeError(
                f"add_task takes a job type, not {func!r:.80}: declare the function with @jobs.job, "
                "so that a worker can run it"
            )
        if self._at_commit is None:
            self._tasks.append(bound)
        else:
            self._at_commit.add(bound)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._at_commit is not None:
            self._at_commit.discard()
        tasks, self._tasks = self._tasks, []
        if error is None and tasks:
            await self._client.start_many(tasks)
