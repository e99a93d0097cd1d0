"""Observers receive every event after its commit. An error in an observer has no effect on jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Protocol, runtime_checkable

from holdfast.core.failure import from_handler
from holdfast.core.record import Record
from holdfast.engine.events import Event
from holdfast.engine.interruption import is_ctrl_c
from holdfast.engine.registry_observers import observers_of
from holdfast.registry.jobs import Jobs

log = logging.getLogger("holdfast")

_LEVELS = {
    "renewed": logging.DEBUG,
    "claimed": logging.DEBUG,
    "started": logging.DEBUG,
    "progressed": logging.DEBUG,
    "woken": logging.DEBUG,
    "retrying": logging.WARNING,
    "mismatched": logging.WARNING,
    "reaped": logging.WARNING,
    "lost": logging.WARNING,
    "store_error": logging.WARNING,
    "process_died": logging.WARNING,
    "failed": logging.ERROR,
}


LOG_INTERVAL = 60.0
"""Seconds between two log lines about the same problem."""
_MAX_PROBLEMS = 100


class LogThrottle:
    """Limits a problem that persists to one log line per minute, instead of one per attempt."""

    def __init__(self) -> None:
        self._logged: dict[tuple[object, ...], float] = {}

    def should_log(self, *problem: object) -> bool:
        """True if this problem was not logged within the last minute. The caller then logs it."""
        now = monotonic()
        if now - self._logged.get(problem, -LOG_INTERVAL) < LOG_INTERVAL:
            return False
        if len(self._logged) >= _MAX_PROBLEMS:
            self._logged.clear()
        self._logged[problem] = now
        return True


@runtime_checkable
class Observer(Protocol):
    """Receives events. A plain callable that takes an Event works as well."""

    def observe(self, event: Event, /) -> None: ...


class Observers:
    """Passes events to observers and to the `holdfast` logger. An observer that raises is logged and ignored.

    Observers receive every `store_error`. The log contains an equal `store_error` at most once a minute. `given` are
    the observers of the caller; those of the registry and its plugins are added.
    """

    def __init__(self, observers: Iterable[Observer | Callable[[Event], None]] = (), jobs: Jobs | None = None) -> None:
        self.given = list(observers)
        self._jobs = jobs
        self._log_throttle = LogThrottle()
        self._read_registry()

    def _read_registry(self) -> None:
        found: list[Any] = self.given
        if self._jobs is not None:
            self._registries = self._jobs.registries
            found = [*found, *observers_of(self._jobs)]
        self._observers = [each.observe if isinstance(each, Observer) else each for each in found]
        # An observer may have a method `wants(kind)`. Events that no observer wants are not built.
        self._wants = [getattr(each, "wants", None) for each in found]
        # An observer with `logs_tracebacks = True` logs them itself: each failed attempt logs its traceback once.
        self._traceback_loggers = [
            getattr(each, "applies", _always) for each in found if getattr(each, "logs_tracebacks", False)
        ]

    def _update(self) -> None:
        """Add the observers of registries that were included after this object was made."""
        if self._jobs is not None and self._jobs.registries is not self._registries:
            self._read_registry()

    def wants(self, kind: str) -> bool:
        """Whether an observer or the log uses events of this kind. Check this before building an expensive event."""
        self._update()
        if self._wants and any(wants is None or wants(kind) for wants in self._wants):
            return True
        return log.isEnabledFor(_LEVELS.get(kind, logging.INFO))

    def emit(self, kind: str, record: Record | None = None, **details: Any) -> None:
        """Build an event and deliver it. Raises only KeyboardInterrupt of Ctrl-C."""
        self._update()
        if self._observers or log.isEnabledFor(level_of(kind)):
            self.deliver((event_about(kind, record, **details),))

    def deliver(self, events: Iterable[Event]) -> None:
        """Pass events to every observer and to the log. Raises only KeyboardInterrupt of Ctrl-C."""
        for event in events:
            level = level_of(event.kind)
            if log.isEnabledFor(level) and self._is_logged(event):
                _write(event, level, None if self._logs_traceback(event) else _traceback(event))
            for observe in self._observers:
                try:
                    observe(event)
                except BaseException as error:  # no await here, so a CancelledError comes from the observer
                    if is_ctrl_c(error):
                        raise
                    log.exception("an observer raised on %s; the event is unaffected", event.kind)

    def _logs_traceback(self, event: Event) -> bool:
        return any(applies(event) for applies in self._traceback_loggers)

    def _is_logged(self, event: Event) -> bool:
        return event.kind != "store_error" or self._log_throttle.should_log(event.worker, event.job_id, event.detail)


def level_of(kind: str) -> int:
    """The log level of events of this kind."""
    return _LEVELS.get(kind, logging.INFO)


def event_about(
    kind: str, record: Record | None = None, *, cause: BaseException | None = None, **details: Any
) -> Event:
    """An event of this kind, about a job or caused by an exception where they are given."""
    if record is None:
        return Event(kind, **details).attach(cause=cause)
    details.setdefault("worker", record.worker)
    about = (None, record.id, record.chain_id, record.type, record.attempt)
    event = Event(kind, *about, trace=record.trace, key=record.key, **details)
    return event.attach(record=record, cause=cause)


def _write(event: Event, level: int, exc_info: Any) -> None:
    shown = ("job_id", "chain_id", "type", "attempt", "worker", "duration", "waited", "detail")
    # A prefix makes the fields easy to find in a LogRecord.
    fields = {f"holdfast_{name}": value for name in shown if (value := getattr(event, name)) is not None}
    parts = [event.kind, *(f"{name}={_short(value)}" for name in shown if (value := getattr(event, name)) is not None)]
    if event.error is not None:
        fields["holdfast_error"] = str(event.error)
        parts.append(f"error={str(event.error)!r}")
    log.log(level, " ".join(parts), extra={"holdfast_event": event.kind, **fields}, exc_info=exc_info)


def _always(event: Event) -> bool:
    return True


def _traceback(event: Event) -> Any:
    """The traceback of the handler, for the log record of a failed attempt."""
    if event.kind not in ("failed", "retrying") or (cause := event.cause) is None:
        return None
    return type(cause), cause, from_handler(cause.__traceback__)


def _short(value: object) -> object:
    match value:
        case float():
            return f"{value:.3f}"
        case str() if not value.isprintable():  # data with a newline must not look like a log line
            return repr(value)
        case _:
            return value
