"""The tables and indexes of the memory store."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from holdfast.core.clock import Clock, Micros
from holdfast.core.counters import CounterChange, Counts, Place
from holdfast.core.error_groups import ErrorGroup, Occurrences
from holdfast.core.record import Record
from holdfast.core.steps import StepRow
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import AuditRow, EventRow, PastAttempt
from holdfast.engine.wakeups import Hints
from holdfast.stores.memory.lanes import Lanes

if TYPE_CHECKING:
    from holdfast.stores.memory.verbs.schedules import ScheduleRow
    from holdfast.stores.memory.verbs.steps import Message


class Tables:
    """Every table and index. `hints` collects the hints of the current operation."""

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self.jobs: dict[str, Record] = {}
        self.chains: dict[str, list[str]] = {}
        """Chain id to the ids of its jobs, in order."""
        self.keys: dict[tuple[str, str], list[str]] = defaultdict(list)
        """(type, key) to chain ids, oldest first."""
        self.blockers: dict[str, tuple[str, ...]] = {}
        self.dependents: dict[str, list[str]] = defaultdict(list)
        self.history: dict[str, list[PastAttempt]] = defaultdict(list)
        self.due: dict[str, list[tuple[int, Micros, int, str]]] = defaultdict(list)
        """Per type, a heap of (-priority, scheduled_at, seq, id); outdated entries are skipped."""
        self.scheduled: dict[str, list[tuple[Micros, int, str]]] = defaultdict(list)
        self.running: dict[str, None] = {}
        self.expiring: list[tuple[Micros, str]] = []
        self.paused: set[str] = set()
        self.workers: dict[str, WorkerRecord] = {}
        self.audit: dict[int, AuditRow] = {}
        """Oldest first, by number."""
        self.changes: dict[str, list[CounterChange]] = {}
        """Under one key: the changes of counters that are not added up yet."""
        self.started: dict[Place, int] = {}
        """Created jobs per type and minute that are not added up yet."""
        self.counts: dict[Place, Counts] = {}
        self.groups: dict[str, ErrorGroup] = {}
        self.occurrences: Occurrences = {}
        self.fingerprints: dict[str, str] = {}
        """Of failed jobs, by id."""
        self.steps: dict[str, dict[tuple[str, str], StepRow]] = {}
        """Job id to its steps by name and `each`."""
        self.messages: dict[str, dict[str, Message]] = {}
        """Chain id to its messages by name, or the waits for them."""
        self.debounced: dict[str, Micros] = {}
        """Of chains that were replaced after an attempt: when, by id. `debounce_max` counts from then."""
        self.lanes = Lanes()
        self.schedules: dict[str, ScheduleRow] = {}
        self.listeners: dict[str, Micros] = {}
        self.events: list[EventRow] = []
        self.event_seq: int = 0
        self.seq: int = 0
        self.hints = Hints()
        self.undo: list[Any] = []
        """The changes of the current operation: a table, a key and the value before for each. Empty after the commit.

        One flat list: the garbage collector would count a tuple for each change.
        """
