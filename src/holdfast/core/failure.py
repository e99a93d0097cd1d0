"""Errors as text: what is stored of an exception, bounded, and what people read of it."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

import msgspec

LIMIT = 16 * 1024
"""Characters kept of a traceback; of a message, a quarter of it."""

_PACKAGE = Path(__file__).parent.parent
_ENGINE = (f"{_PACKAGE / 'worker'}{os.sep}", str(_PACKAGE / "registry" / "job_type.py"))


class ErrorText(str):
    """What went wrong in an attempt, as text: ``str(error)`` is the one line, `traceback` the whole story.

    Errors are kept as text and never turned back into exception objects.
    """

    type: str
    message: str
    traceback: str

    def __new__(cls, type: str, message: str, traceback: str = "") -> ErrorText:
        text = super().__new__(cls, f"{type}: {message}" if message else type)
        text.type, text.message, text.traceback = type, message, traceback
        return text


def describe(error: BaseException) -> bytes:
    """An exception as the bytes a store keeps. Never raises, whatever the exception's own methods do."""
    try:
        trace = "".join(traceback.format_exception(type(error), error, _from_handler(error.__traceback__)))
    except BaseException:
        trace = ""
    return write(type(error).__qualname__, message_of(error), trace)


def message_of(error: BaseException) -> str:
    """The text of an exception. Never raises, whatever the exception's own methods do."""
    try:
        return str(error)
    except BaseException:
        return "(its text could not be made)"


def write(type: str, message: str, trace: str = "") -> bytes:
    """The stored form of an error."""
    parts = [type[:200], _shorten(message, LIMIT // 4), _shorten(trace, LIMIT)]
    # A lone surrogate or NUL in somebody's message must not keep its job from failing.
    return msgspec.json.encode([part.encode("utf-8", "replace").decode().replace("\0", "\\0") for part in parts])


def read_error(stored: bytes | None) -> ErrorText | None:
    """A stored error for people."""
    return None if stored is None else ErrorText(*msgspec.json.decode(stored, type=tuple[str, str, str]))


def _from_handler(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the worker's frames that it begins with: people look for their own code."""
    rest = trace
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_ENGINE):
        rest = rest.tb_next
    return trace if rest is None else rest


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    # The end of a traceback names the error, its beginning where the handler was entered.
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - limit} characters left out ...\n{text[-half:]}"
