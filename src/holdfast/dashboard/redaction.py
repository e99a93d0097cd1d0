"""Inputs, outputs, errors and logs as they may be shown to a viewer."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from holdfast.codec.codec import plain
from holdfast.codec.masking import masked
from holdfast.core.failure import ErrorText
from holdfast.dashboard.access import Field, Redact
from holdfast.dashboard.text import document, shorten
from holdfast.errors import PayloadRefused

log = logging.getLogger("holdfast.dashboard")

MOST_CHARACTERS = 10_000
"""Characters of a value on a page. The rest can be downloaded."""
_WITHHELD = "(not shown: the function redact raised an error)"


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that may be longer than what the page contains."""

    text: str
    length: int

    @property
    def truncated(self) -> bool:
        return self.length > len(self.text)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Applies the function of the application, or hides values under the names of secrets."""

    redact: Redact | None

    def payload(self, stored: bytes | None, field: Field) -> ShownText | None:
        """An input or output as indented JSON; None if there is none."""
        return None if stored is None else _cut(self.whole(stored, field))

    def whole(self, stored: bytes, field: Field) -> str:
        """An input or output as JSON, complete."""
        try:
            value = plain(stored)
        except PayloadRefused:
            return f"({len(stored):,} bytes that are not JSON)"
        return self._text(value, field)

    def value(self, value: Any) -> ShownText:
        """The result of a step, which is a part of an output."""
        return _cut(self._text(value, "output"))

    def error(self, error: ErrorText | None) -> str:
        """An error on one line."""
        return "" if error is None else shorten(self._text(str(error), "error"), 300)

    def traceback(self, error: ErrorText | None) -> ShownText | None:
        """The traceback of an error, or its text."""
        return None if error is None else _cut(self._text(error.traceback or str(error), "error"))

    def message(self, text: str) -> str:
        """The message of an error group."""
        return self._text(text, "error")

    def log(self, text: str | None) -> ShownText | None:
        return None if text is None else _cut(self._text(text, "log"))

    def _text(self, value: Any, field: Field) -> str:
        if self.redact is None:
            changed = masked(value)
        else:
            try:
                changed = self.redact(value, field)
            except Exception as error:
                log.warning("the function redact raised %s for a value of the field %s", type(error).__name__, field)
                return _WITHHELD
        return changed if isinstance(changed, str) and field in ("error", "log") else document(changed)


def _cut(text: str) -> ShownText:
    return ShownText(text[:MOST_CHARACTERS], len(text))
