"""Errors as text: what is stored of an exception, bounded."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

import msgspec

LIMIT = 16 * 1024
"""Characters kept of a traceback; of a message, a quarter of it."""


_HERE = Path(__file__).parent
_ENGINE = (f"{_HERE / 'worker'}{os.sep}", str(_HERE / "job_type.py"))


def describe(error: BaseException) -> bytes:
    """An exception as the bytes a store keeps. Never raises, whatever the exception's own methods do."""
    name = type(error).__qualname__
    try:
        message = str(error)
    except Exception:
        message = "(its text could not be made)"
    try:
        trace = "".join(traceback.format_exception(type(error), error, _from_handler(error.__traceback__)))
    except Exception:
        trace = ""
    return write(name, message, trace)


def write(type: str, message: str, trace: str = "") -> bytes:
    """The stored form of an error."""
    parts = [type[:200], _shorten(message, LIMIT // 4), _shorten(trace, LIMIT)]
    # A lone surrogate or NUL in somebody's message must not keep its job from failing.
    return msgspec.json.encode([part.encode("utf-8", "replace").decode().replace("\0", "\\0") for part in parts])


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
