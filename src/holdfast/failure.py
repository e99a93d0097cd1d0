"""Errors as text: what is stored of an exception, bounded."""

from __future__ import annotations

import traceback

import msgspec

LIMIT = 16 * 1024
"""Characters kept of a traceback; of a message, a quarter of it."""


def describe(error: BaseException) -> bytes:
    """An exception as the bytes a store keeps. Never raises, whatever the exception's own methods do."""
    name = type(error).__qualname__
    try:
        message = str(error)
    except Exception:
        message = "(its text could not be made)"
    try:
        trace = "".join(traceback.format_exception(error))
    except Exception:
        trace = ""
    return write(name, message, trace)


def write(type: str, message: str, trace: str = "") -> bytes:
    """The stored form of an error."""
    parts = [type[:200], _shorten(message, LIMIT // 4), _shorten(trace, LIMIT)]
    # A lone surrogate or NUL in somebody's message must not keep its job from failing.
    return msgspec.json.encode([part.encode("utf-8", "replace").decode().replace("\0", "\\0") for part in parts])


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    # The end of a traceback names the error, its beginning where the handler was entered.
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - limit} characters left out ...\n{text[-half:]}"
