"""Reference pages that are generated from the code, so that they cannot be out of date."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import typer
from prometheus_client.metrics_core import Metric

import holdfast
from holdfast.cli.app import app
from holdfast.contrib.prometheus import plugin, store_metrics
from holdfast.engine import events
from tools.site.configuration import configuration

GROUPS = {
    "Declare": ("Jobs", "JobType", "Bound", "Retry", "Limit", "Rate", "Order", "Plugin", "Middleware", "Observer"),
    "Start and read": ("Client", "SyncClient", "Chain", "Job", "Completed", "Page", "Report", "Explanation", "Reason"),
    "Run": ("Worker", "Attempt", "SyncAttempt", "Reschedule", "Fail", "Cancel", "Supervisor", "Group", "Reaper"),
    "Named queues": ("Queue", "SyncQueue", "QueueJob", "Queued", "Duplicate", "content_id"),
}

PARTS = {"Run": ("worker", "supervisor"), "Named queues": ("queue",)}
"""Subpackages whose other names belong to a group: what methods of the group return, and what callers annotate."""

MODULES = {
    "Testing": ("testing",),
    "Dashboard": ("dashboard",),
    "Integrations": (
        "contrib.django",
        "contrib.django.testing",
        "contrib.fastapi",
        "contrib.flask",
        "contrib.flask.testing",
        "contrib.sqlalchemy",
        "contrib.sqlalchemy.alembic",
    ),
    "Plugins": ("contrib.logging", "contrib.otel", "contrib.prometheus", "contrib.sentry", "contrib.structlog"),
}
"""Subpackages that are part of the public interface."""


def write_reference(folder: Path) -> None:
    """Write the pages of the reference."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = _api(folder)
    (folder / "index.md").write_text(_index(pages), encoding="utf-8")
    (folder / "commands.md").write_text(_commands(), encoding="utf-8")
    (folder / "configuration.md").write_text(configuration(), encoding="utf-8")
    (folder / "metrics.md").write_text(_metrics(), encoding="utf-8")
    (folder / "events.md").write_text(_events(), encoding="utf-8")


def _api(folder: Path) -> list[str]:
    grouped = {name for names in GROUPS.values() for name in names}
    public = [name for name in holdfast.__all__ if isinstance(getattr(holdfast, name), type)]
    errors = [name for name in public if issubclass(getattr(holdfast, name), BaseException) and name not in grouped]
    rest = [name for name in holdfast.__all__ if name not in grouped and name not in errors]
    pages: list[str] = []
    seen: list[Any] = []
    for title, names in {**GROUPS, "Exceptions": tuple(errors), "Other names": tuple(rest)}.items():
        page = title.lower().replace(" ", "-")
        pages.append(page)
        parts = [
            f"# {title}",
            f"Names of `holdfast`: {', '.join(f'`{name}`' for name in names)}.",
            *(_name(name, seen) for name in names),
            *(_name(name, seen, f"holdfast.{module}") for module in PARTS.get(title, ()) for name in only_in(module)),
        ]
        (folder / f"{page}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    for title, modules in MODULES.items():
        pages.append(title.lower())
        parts = [
            f"# {title}",
            *(_name(name, seen, f"holdfast.{module}") for module in modules for name in exported(module)),
        ]
        (folder / f"{title.lower()}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return pages


def exported(module: str) -> list[str]:
    """The public names of a subpackage: its `__all__`, or what it defines."""
    found = importlib.import_module(f"holdfast.{module}")
    defined = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__]
    return list(getattr(found, "__all__", None) or [name for name in defined if not name.startswith("_")])


def only_in(module: str) -> list[str]:
    """The public names of a subpackage that `holdfast` does not export."""
    found = importlib.import_module(f"holdfast.{module}")
    return [name for name in exported(module) if getattr(holdfast, name, None) is not getattr(found, name)]


def _name(name: str, seen: list[Any], module: str = "holdfast") -> str:
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value):
        kind, options = ("autofunction" if inspect.isfunction(value) else "autodata"), ""
    elif issubclass(value, BaseException):
        kind, options = "autoexception", ":show-inheritance:\n"
    else:
        kind, options = "autoclass", ":members:\n:inherited-members: object,tuple,Exception,Struct,str,int\n"
    if value in seen:  # two integrations export it
        options += ":no-index:\n"
    seen.append(value)
    title = name if module == "holdfast" else f"{module}.{name}"
    return f"## {title}\n\n```{{eval-rst}}\n.. {kind}:: {module}.{name}\n{_indented(options)}```"


def _indented(text: str) -> str:
    return "".join(f"   {line}\n" for line in text.splitlines())


def _index(pages: list[str]) -> str:
    listed = "\n".join(pages)
    text = "Every name that `holdfast` and its public subpackages export."
    return f"# Python interface\n\n{text}\n\n```{{toctree}}\n:maxdepth: 2\n\n{listed}\n```\n"


def _commands() -> str:
    """Every command with its help text and options."""
    parts = ["# Commands and options", "Generated from the program. See also [the command line](../cli.md)."]
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="holdfast")
    for name, command in sorted(group.commands.items()):
        parts.append(f"## holdfast {name}")
        parts.append((command.help or "").strip())
        parts.append(_options(command, typer.Context(command, info_name=name, parent=context)))
        for sub, child in sorted(getattr(command, "commands", {}).items()):
            parts.append(f"### holdfast {name} {sub}")
            parts.append((child.help or "").strip())
            parts.append(_options(child, typer.Context(child, info_name=sub, parent=context)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _options(command: Any, context: typer.Context) -> str:
    rows: list[str] = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            left, right = (text.replace("|", "\\|").replace("\n", " ") for text in record)
            rows.append(f"| `{left}` | {right} |")
    return "\n".join(["| option | |", "| --- | --- |", *rows]) if rows else ""


def _metrics() -> str:
    """The metrics of the collector and of the plugin, as they describe themselves."""
    store: list[Metric] = [store_metrics.up(True), *store_metrics.store_metrics(store_metrics.EMPTY)]
    workers = [
        (f"{plugin.ATTEMPTS}_total", "counter", plugin.ATTEMPTS_TEXT, "type, outcome"),
        (plugin.RUNS, "histogram", plugin.RUNS_TEXT, "type"),
        (plugin.WAITS, "histogram", plugin.WAITS_TEXT, "type"),
    ]
    described = [
        (
            f"{each.name}_total" if each.type == "counter" else each.name,
            each.type,
            each.documentation,
            ", ".join(getattr(each, "_labelnames", ())),
        )
        for each in store
    ]
    parts = [
        "# Metrics",
        "Generated from the code. [Prometheus](../plugins/prometheus.md) explains how to scrape them.",
    ]
    for title, rows in {"Of the store": described, "Of one worker process": workers}.items():
        table = [f"| `{name}` | {kind} | {labels} | {text} |" for name, kind, text, labels in rows]
        parts += [f"## {title}", "\n".join(["| metric | kind | labels | |", "| --- | --- | --- | --- |", *table])]
    return "\n\n".join(parts) + "\n"


def _events() -> str:
    """The fields of an event, and every kind."""
    document = inspect.getdoc(holdfast.Event) or ""
    parts = [
        f"# Events\n\n{document}",
        "```{eval-rst}\n.. autoclass:: holdfast.Event\n   :members:\n   :no-index:\n```",
    ]
    for title, kinds in {
        "Of a job": events.JOB_EVENTS,
        "Of a worker": events.WORKER_EVENTS,
        "Of the supervisor": events.PROCESS_EVENTS,
    }.items():
        table = [f"| `{kind}` | {meaning} |" for kind, meaning in kinds.items()]
        parts += [f"## {title}", "\n".join(["| kind | |", "| --- | --- |", *table])]
    return "\n\n".join(parts) + "\n"
