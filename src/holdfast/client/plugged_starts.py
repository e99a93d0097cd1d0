"""Calls the plugins of a registry for jobs that are about to be created, and stores what they send along.

A procedure delegates to `start`. Other code wraps the operation that creates the jobs: ``with plugged(jobs, new)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from holdfast.core.details import read_details, write_details
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import Start, Started
from holdfast.engine.procedures import Procedure
from holdfast.registry.extensions import plugins_of
from holdfast.registry.jobs import Jobs
from holdfast.registry.plugin import StartingJob, defined


class Starts:
    """Jobs to create, without plugins."""

    __slots__ = ("jobs",)

    def __init__(self, jobs: tuple[NewJob, ...]) -> None:
        self.jobs = jobs
        """The jobs to pass to the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to do."""

    def answered(self, started: Sequence[Started]) -> None:
        """Report to the plugins which chains existed before."""


class PluggedStarts(Starts):
    """Jobs to create, within the blocks of their plugins."""

    __slots__ = ("_registry", "_stack", "_starting")

    def __init__(self, registry: Jobs, jobs: tuple[NewJob, ...]) -> None:
        super().__init__(jobs)
        self._registry = registry
        self._starting = [_starting(job) for job in jobs]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for starting, positions in self._by_plugin("starting"):
                stack.enter_context(starting([self._starting[each] for each in positions]))
            sent: list[dict[str, str]] = [{} for _ in self.jobs]
            for carrier, positions in self._by_plugin("carrier"):
                for each in positions:
                    sent[each].update(carrier())
            self.jobs = tuple(
                _with_carrier(job, {**each.inherited, **carriers, **each.carrier})
                for job, each, carriers in zip(self.jobs, self._starting, sent, strict=True)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def answered(self, started: Sequence[Started]) -> None:
        for each, (chain, deduplicated) in zip(self._starting, started, strict=True):
            each.deduplicated = deduplicated
            if deduplicated:
                each.job_id = each.chain_id = chain.first.id

    def _by_plugin(self, method: str) -> list[tuple[Callable[..., Any], list[int]]]:
        """This method of each plugin that defines it, outermost first, with the positions of the jobs in its scope."""
        types = {job.type for job in self.jobs}
        plugins = {name: plugins_of(self._registry.scope(name)) for name in types}
        found: list[tuple[Callable[..., Any], list[int]]] = []
        for plugin in plugins_of(self._registry.registries):
            if (defines := defined(plugin, method)) is not None:
                scope = {name for name in types if any(each is plugin for each in plugins[name])}
                positions = [position for position, job in enumerate(self.jobs) if job.type in scope]
                if positions:
                    found.append((defines, positions))
        return found


def start(registry: Jobs, jobs: tuple[NewJob, ...]) -> Procedure[list[Started]]:
    """Create jobs, within the blocks of the plugins."""
    started: list[Started]
    if not registry.has_plugins:
        started = yield Start(jobs)
        return started
    with PluggedStarts(registry, jobs) as starts:
        started = yield Start(starts.jobs)
        starts.answered(started)
    return started


def plugged(registry: Jobs, jobs: Sequence[NewJob]) -> Starts:
    """The jobs to create, with the plugins of the registry. Enter it around the operation that creates them."""
    if registry.has_plugins:
        return PluggedStarts(registry, tuple(jobs))
    return Starts(tuple(jobs))


def with_carrier(registry: Jobs, job: NewJob) -> NewJob:
    """A continuation with what the plugins send along. Called in the context of the handler that continues."""
    with plugged(registry, (job,)) as starts:
        return starts.jobs[0]


def _starting(job: NewJob) -> StartingJob:
    inherited = read_details(job.details).carrier or {}
    return StartingJob(
        type=job.type, job_id=job.id, chain_id=job.chain_id, index=job.index, key=job.key, inherited=inherited
    )


def _with_carrier(job: NewJob, carrier: dict[str, str]) -> NewJob:
    for name, value in carrier.items():
        if not all(isinstance(each, str) for each in (name, value)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a carrier contains texts by name; {name!r:.60} is a {type(value).__name__}")
    details = read_details(job.details)
    if carrier == (details.carrier or {}):
        return job
    return replace(job, details=write_details(replace(details, carrier=carrier or None)))
