"""Errors as text: the stored form of an exception, limited in size, and the form that callers read."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import cast

import msgspec

LIMIT = 16 * 1024
"""Maximum characters of a traceback. A message has a quarter of it."""

_PACKAGE = Path(__file__).parent.parent
_ENGINE = (
    f"{_PACKAGE / 'worker'}{os.sep}",
    f"{_PACKAGE / 'contrib'}{os.sep}",
    str(_PACKAGE / "registry" / "job_type.py"),
)


class ErrorText(str):
    """The error of an attempt as text: ``str(error)`` is one line, `traceback` the whole traceback.

    Errors are stored as text and never converted back to exception objects.
    """

    type: str
    message: str
    traceback: str

    def __new__(cls, type: str, message: str, traceback: str = "") -> ErrorText:
        text = super().__new__(cls, f"{type}: {message}" if message else type)
        text.type, text.message, text.traceback = type, message, traceback
        return text


def describe(error: BaseException) -> bytes:
    """The stored form of an exception. Never raises, even if the methods of the exception raise."""
    try:
        trace = "".join(traceback.format_exception(type(error), error, from_handler(error.__traceback__)))
    except BaseException:
        trace = ""
    return write(type(error).__qualname__, message_of(error), trace)


def message_of(error: BaseException) -> str:
    """The text of an exception. Never raises, even if `__str__` raises."""
    try:
        return str(error)
    except BaseException:
        return "(its text could not be made)"


def readable(error: BaseException) -> BaseException:
    """The exception, or a RuntimeError in its place if reading its attributes or its causes raises.

    Otherwise `isinstance`, or a log handler that formats it, could raise anything, for example KeyboardInterrupt.
    """
    try:
        _read_attributes(error)
    except BaseException:
        # By the descriptor, because the class may override the access to attributes.
        trace = vars(BaseException)["__traceback__"].__get__(error)
        return RuntimeError(f"{type(error).__qualname__}: the exception cannot be read").with_traceback(trace)
    return error


def _read_attributes(error: BaseException) -> None:
    """Read what `logging` and `traceback` read of an exception, of its causes and of the members of a group."""
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            bool(each)
            getattr(each, "__notes__", None)
            if isinstance(each, BaseExceptionGroup):
                left += cast("BaseExceptionGroup[BaseException]", each).exceptions
            left += (cause for cause in (each.__cause__, each.__context__) if cause is not None)


def from_handler(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of the worker at its beginning."""
    rest = trace
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_ENGINE):
        rest = rest.tb_next
    return trace if rest is None else rest


def write(type: str, message: str, trace: str = "") -> bytes:
    """The stored form of an error."""
    parts = [type[:200], _shorten(message, LIMIT // 4), _shorten(trace, LIMIT)]
    # A lone surrogate or NUL in a message must not prevent the settlement of the job.
    return msgspec.json.encode([part.encode("utf-8", "replace").decode().replace("\0", "\\0") for part in parts])


def read_error(stored: bytes | None) -> ErrorText | None:
    """A stored error in readable form."""
    return None if stored is None else ErrorText(*msgspec.json.decode(stored, type=tuple[str, str, str]))


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    # The end of a traceback contains the error, its beginning the entry into the handler.
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - limit} characters left out ...\n{text[-half:]}"
