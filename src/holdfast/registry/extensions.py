"""The plugins, middlewares and lifespans of a registry, and which of them apply to a job type."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from holdfast.registry.plugin import Plugin, check_plugin, defined

if TYPE_CHECKING:
    from holdfast.registry.jobs import Jobs


def checked_plugins(plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
    """The plugins. TypeError for an object that is not a plugin."""
    listed = tuple(plugins)
    for plugin in listed:
        check_plugin(plugin)
    return listed


def check_callables(option: str, values: Iterable[object]) -> None:
    """TypeError unless each value can be called or, for observers, has a method `observe`."""
    for value in values:
        if not callable(value) and not (option == "observers" and callable(getattr(value, "observe", None))):
            raise TypeError(f"{option}=[...] takes callables, not {value!r:.60}")


def check_lifespan(lifespan: object) -> None:
    """TypeError unless `lifespan(worker)` can return an async context manager."""
    if lifespan is None:
        return
    if not callable(lifespan):
        raise TypeError(f"lifespan is a function that takes the worker, not {lifespan!r:.60}")
    if inspect.isasyncgenfunction(lifespan) or inspect.iscoroutinefunction(lifespan):
        raise TypeError(
            f"lifespan must return an async context manager: put @contextlib.asynccontextmanager over {lifespan!r:.60}"
        )


def plugins_of(registries: Iterable[Jobs]) -> list[Plugin]:
    """The plugins of these registries, outermost first. A plugin that several registries have appears once."""
    return list({id(plugin): plugin for registry in registries for plugin in registry.plugins}.values())


def methods_of(registries: Iterable[Jobs], method: str) -> list[Any]:
    """This method of each plugin that defines it, outermost first."""
    return [found for plugin in plugins_of(registries) if (found := defined(plugin, method)) is not None]
