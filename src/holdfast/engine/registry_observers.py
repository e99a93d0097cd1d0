"""The observers and plugins of a registry, and of the registries that it includes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.engine.events import Event
from holdfast.registry.jobs import Jobs
from holdfast.registry.plugin import defined


class ScopedObserver:
    """Passes on the events about job types of an included registry."""

    def __init__(self, observer: Any, jobs: Jobs, owner: Jobs) -> None:
        self._observe: Callable[[Event], None] = getattr(observer, "observe", observer)
        self._wants: Callable[[str], bool] | None = getattr(observer, "wants", None)
        self.logs_tracebacks: bool = getattr(observer, "logs_tracebacks", False)
        self._jobs = jobs
        self._owner = owner

    def wants(self, kind: str) -> bool:
        return self._wants is None or self._wants(kind)

    def applies(self, event: Event) -> bool:
        """Whether the event is about a job type of the included registry."""
        return event.type is not None and self._owner in self._jobs.scope(event.type)

    def observe(self, event: Event, /) -> None:
        if self.applies(event):
            self._observe(event)


def observers_of(jobs: Jobs) -> list[Any]:
    """The plugins that observe, then the observers, of a registry and of those that it includes.

    A plugin that several registries have receives each event once, from the outermost of them.
    """
    plugins: dict[int, Any] = {}
    for owner in jobs.registries:
        for plugin in owner.plugins:
            if defined(plugin, "observe") is not None:
                plugins.setdefault(id(plugin), _scoped(plugin, jobs, owner))
    observers = [_scoped(observer, jobs, owner) for owner in jobs.registries for observer in owner.observers]
    return [*plugins.values(), *observers]


def _scoped(observer: Any, jobs: Jobs, owner: Jobs) -> Any:
    return observer if owner is jobs else ScopedObserver(observer, jobs, owner)
