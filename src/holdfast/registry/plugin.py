"""Plugins: objects that observe and wrap what a registry's clients and workers do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Imported for type checkers only: the registry must not depend on the engine and the worker.
    from holdfast.engine.events import Event
    from holdfast.engine.store import Store, SyncTransaction
    from holdfast.worker.worker import Worker

METHODS = ("observe", "around", "in_thread", "in_child", "begin", "in_block", "starting", "carrier", "lifespan")


class StartingJob:
    """A job that is about to be created, as `Plugin.starting` receives it.

    `index` is 0 for the first job of a chain, and greater for a continuation. Entries that a plugin adds to `carrier`
    are stored with this job, and replace those of `Plugin.carrier`. `inherited` are the entries of the job whose
    handler creates this one; they are stored too, unless a plugin removes them. `deduplicated` is None until the store
    has answered. It is then True if the start found an existing chain, and `chain_id` is the id of that chain.
    """

    __slots__ = ("carrier", "chain_id", "deduplicated", "index", "inherited", "job_id", "key", "type")

    def __init__(
        self, *, type: str, job_id: str, chain_id: str, index: int, key: str | None, inherited: dict[str, str]
    ) -> None:
        self.type = type
        self.job_id = job_id
        self.chain_id = chain_id
        self.index = index
        self.key = key
        self.inherited = inherited
        self.carrier: dict[str, str] = {}
        self.deduplicated: bool | None = None

    def __repr__(self) -> str:
        return f"<StartingJob {self.job_id} {self.type!r}>"


class Plugin:
    """Observes or wraps the attempts and starts of a registry: `Jobs(plugins=[...])`. Every method is optional.

    The plugins of an included registry apply to the job types of that registry. A method that a plugin does not
    override costs nothing.
    """

    def observe(self, event: Event, /) -> None:
        """Called with each event of the process after its commit. An error is logged and has no other effect."""

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        """Wraps each attempt, like a middleware. An error fails the attempt."""
        return await call_next()

    def in_thread(self, attempt: Any, /) -> AbstractContextManager[Any]:
        """Wraps a plain handler, in its thread. Called inside `around`, not for handlers in child processes."""
        return nullcontext()

    def begin(self, attempt: Any, store: Store, /) -> SyncTransaction | None:
        """Begins a transaction for `prepare` or `complete` of a plain handler. None: the store begins one.

        The first plugin that returns one is used. It must lead to the database of the store.
        """
        return None

    def in_block(self, attempt: Any, tx: Any, /) -> AbstractContextManager[Any]:
        """Wraps the application's code in a transaction of the attempt: the bodies of `prepare` and `complete`.

        Entered in the thread of a plain handler, and in the task of an async one. `tx` is the transaction.
        """
        return nullcontext()

    def in_child(self, attempt: Any, /) -> Callable[[], AbstractContextManager[Any]] | None:
        """What to enter around a handler that runs in a child process (`executor="process"`). Called inside `around`.

        The function is pickled and called in the child, so it must be importable there: for example a
        `functools.partial` of a function of a module. `holdfast.worker.running_job.child_notes` sends bytes back; they
        are in `attempt.child_notes` after `call_next()`.
        """
        return None

    def starting(self, jobs: Sequence[StartingJob], /) -> AbstractContextManager[Any]:
        """Wraps each creation of jobs: all jobs of one call. An error fails the start.

        The block contains the operation of the store, and the calls of `carrier`. With `tx=` it ends before the commit.
        The block of a continuation is empty: the store creates the job later, together with the settlement.
        """
        return nullcontext()

    def carrier(self) -> dict[str, str]:
        """What to store with a job that is about to be created. Called once per job, in the context of the caller."""
        return {}

    def lifespan(self, worker: Worker, /) -> AbstractAsyncContextManager[Any]:
        """Entered once per worker before its first claim, and exited after its last settlement."""
        return nullcontext()


def defined(plugin: object, method: str) -> Any:
    """The method of a plugin, or None if the plugin does not define it."""
    found = getattr(plugin, method, None)
    return None if getattr(found, "__func__", None) is getattr(Plugin, method) else found


def check_plugin(plugin: object) -> None:
    """TypeError unless this is an object with a method of a plugin."""
    if isinstance(plugin, type):
        raise TypeError(f"plugins=[...] takes objects: write {plugin.__name__}(), not {plugin.__name__}")
    if not isinstance(plugin, Plugin) and not any(callable(getattr(plugin, name, None)) for name in METHODS):
        raise TypeError(f"a plugin has at least one of the methods {', '.join(METHODS)}; {plugin!r:.60} has none")
