"""The state of a supervisor or worker as a JSON document and in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.supervisor.backlog import Backlog, Reading

Sample = tuple[dict[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """The worker processes of a group, and their slots."""

    name: str
    types: tuple[str, ...]
    wanted: int
    processes: int
    ready: int
    draining: int
    busy: int
    slots: int
    restarts: int


class Supervised(Protocol):
    """What the health endpoint shows: a supervisor, or a single worker."""

    backlog: Backlog

    @property
    def alive(self) -> bool: ...

    @property
    def ready(self) -> bool: ...

    def groups(self) -> Sequence[GroupState]: ...

    async def refresh(self) -> None:
        """Called before an answer about the backlog or the readiness."""
        ...


def backlog_document(reading: Reading | None, types: Iterable[str]) -> dict[str, Any]:
    """What is due, in all and per type. `known` is false, and the counts are null, while the store cannot be read.

    `demand` is what is due and what runs, on any machine: the slots that a whole deployment could use.
    """
    names = sorted(types)
    if reading is None:
        unknown = dict.fromkeys(("due", "oldest_due_seconds", "running", "demand"))
        return {"known": False, **unknown, "types": {}}
    return {
        "known": True,
        "due": reading.due(names),
        "oldest_due_seconds": reading.oldest_due(names),
        "running": reading.running(names),
        "demand": reading.due(names) + reading.running(names),
        "types": {name: type_document(reading, name) for name in names},
    }


def group_document(group: GroupState, reading: Reading | None) -> dict[str, Any]:
    """The processes and slots of a group, and its backlog."""
    return {
        "types": list(group.types),
        "due": None if reading is None else reading.due(group.types),
        "wanted": group.wanted,
        "processes": group.processes,
        "ready": group.ready,
        "draining": group.draining,
        "busy": group.busy,
        "slots": group.slots,
        "restarts": group.restarts,
    }


def document(subject: Supervised) -> dict[str, Any]:
    """The whole state."""
    reading, groups = subject.backlog.last, subject.groups()
    return {
        **backlog_document(reading, subject.backlog.types),
        "busy": sum(group.busy for group in groups),
        "groups": {group.name: group_document(group, reading) for group in groups},
    }


def metrics(subject: Supervised, *, without: Container[str] = ()) -> str:
    """The state in Prometheus's text format. Where the backlog is unknown its samples are left out, never zero.

    `without`: the names of metrics that the caller has from elsewhere.
    """
    reading = subject.backlog.last
    types = sorted(subject.backlog.types) if reading is not None else []
    per_type = [({"type": name}, type_document(reading, name)) for name in types if reading is not None]
    groups = [({"group": each.name}, group_document(each, reading)) for each in subject.groups()]
    shown = [
        _metric("up", "gauge", "Whether the backlog can be read.", [({}, float(reading is not None))]),
        _metric("due_jobs", "gauge", "Jobs that could run now.", _samples(per_type, "due")),
        _metric(
            "oldest_due_seconds", "gauge", "For how long the first of them has been due.",
            _samples(per_type, "oldest_due_seconds"),
        ),
        _metric("running_jobs", "gauge", "Jobs that some worker holds.", _samples(per_type, "running")),
        _metric("processes", "gauge", "Worker processes that take jobs.", _samples(groups, "processes")),
        _metric("processes_wanted", "gauge", "Worker processes that the backlog needs.", _samples(groups, "wanted")),
        _metric("processes_draining", "gauge", "Worker processes that drain.", _samples(groups, "draining")),
        _metric("busy_slots", "gauge", "Handlers that run.", _samples(groups, "busy")),
        _metric("slots", "gauge", "Handlers that could run at a time.", _samples(groups, "slots")),
        _metric(
            "process_restarts_total", "counter", "Worker processes that died without a command to end.",
            _samples(groups, "restarts"),
        ),
    ]  # fmt: skip
    return "\n".join(line for name, lines in shown if name not in without for line in lines) + "\n"


def type_document(reading: Reading, name: str) -> dict[str, Any]:
    """The backlog of one type."""
    stats = reading.types.get(name)
    return {
        "due": reading.due([name]),
        "oldest_due_seconds": reading.oldest_due([name]),
        "scheduled": 0 if stats is None else stats.scheduled,
        "running": reading.running([name]),
        "paused": stats is not None and stats.paused,
    }


def _samples(rows: Sequence[tuple[dict[str, str], dict[str, Any]]], key: str) -> list[Sample]:
    return [(labels, row[key]) for labels, row in rows if row[key] is not None]


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> tuple[str, list[str]]:
    full = f"holdfast_{name}"
    shown = [f"{full}{_labels(labels)} {value:.15g}" for labels, value in samples]
    return full, [f"# HELP {full} {text}", f"# TYPE {full} {kind}", *shown]


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
