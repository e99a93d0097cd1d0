"""Observers: told of every transition, after the commit, and able to harm nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Protocol, runtime_checkable

from holdfast.core.record import Record
from holdfast.engine.events import Event
from holdfast.engine.interruption import is_ctrl_c

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


AGAIN = 60.0
"""Seconds before the log repeats itself about the same trouble."""
_MOST_TROUBLES = 100


class Repetition:
    """Remembers what was said, so that a trouble that lasts is logged once a minute and not with every try."""

    def __init__(self) -> None:
        self._said: dict[tuple[object, ...], float] = {}

    def is_new(self, *trouble: object) -> bool:
        """Whether this was not said within the last minute; it counts as said from now on."""
        now = monotonic()
        if now - self._said.get(trouble, -AGAIN) < AGAIN:
            return False
        if len(self._said) >= _MOST_TROUBLES:
            self._said.clear()
        self._said[trouble] = now
        return True


@runtime_checkable
class Observer(Protocol):
    """Something that wants to hear of events. A plain callable that takes an Event will do as well."""

    def observe(self, event: Event, /) -> None: ...


class Observers:
    """Passes events to observers and to the `holdfast` logger. An observer that raises is logged and ignored.

    Observers hear of every trouble with the store, the log of the same one once a minute.
    """

    def __init__(self, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> None:
        self.given = list(observers)
        self._repetition = Repetition()
        self._observers = [each.observe if isinstance(each, Observer) else each for each in self.given]
        # An observer may have a method `wants(kind)`, so that events that it ignores cost nothing.
        self._wants = [getattr(each, "wants", None) for each in self.given]

    def wants(self, kind: str) -> bool:
        """Whether an observer or the log takes events of this kind: ask before building an event costs something."""
        return any(wants is None or wants(kind) for wants in self._wants) or log.isEnabledFor(level_of(kind))

    def emit(self, kind: str, record: Record | None = None, **details: Any) -> None:
        """Build an event and deliver it. Raises nothing but a Ctrl-C."""
        if self._observers or log.isEnabledFor(level_of(kind)):
            self.deliver((event_about(kind, record, **details),))

    def deliver(self, events: Iterable[Event]) -> None:
        """Pass events to every observer and to the log. Raises nothing but a Ctrl-C."""
        for event in events:
            level = level_of(event.kind)
            if log.isEnabledFor(level) and self._is_news(event):
                _write(event, level)
            for observe in self._observers:
                try:
                    observe(event)
                except BaseException as error:  # nothing awaits here, so a CancelledError is the observer's own
                    if is_ctrl_c(error):
                        raise
                    log.exception("an observer raised on %s; the event is unaffected", event.kind)

    def _is_news(self, event: Event) -> bool:
        return event.kind != "store_error" or self._repetition.is_new(event.worker, event.job_id, event.detail)


def level_of(kind: str) -> int:
    """The level at which the log has events of this kind."""
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


def _write(event: Event, level: int) -> None:
    shown = ("job_id", "chain_id", "type", "attempt", "worker", "duration", "waited", "detail")
    # `type` and friends would clash with nothing in LogRecord, but a prefix lets people find them.
    fields = {f"holdfast_{name}": value for name in shown if (value := getattr(event, name)) is not None}
    words = [event.kind, *(f"{name}={_short(value)}" for name in shown if (value := getattr(event, name)) is not None)]
    if event.error is not None:
        fields["holdfast_error"] = str(event.error)
        words.append(f"error={str(event.error)!r}")
    log.log(level, " ".join(words), extra={"holdfast_event": event.kind, **fields})


def _short(value: object) -> object:
    match value:
        case float():
            return f"{value:.3f}"
        case str() if not value.isprintable():  # a line of data must not look like a line of the log
            return repr(value)
        case _:
            return value
