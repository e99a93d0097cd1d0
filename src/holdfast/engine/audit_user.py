"""The user whose changes are recorded in the audit."""

from __future__ import annotations

import getpass
import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from holdfast.engine.operations import Audit

_HANDLER = ""
"""Stands for a handler: its changes are part of the work, and not an operator's."""
_MAX_REASON = 1000

_acting: ContextVar[str | None] = ContextVar("holdfast_acting", default=None)


@contextmanager
def acting_as(user: str) -> Generator[None]:
    """Changes in this block, by any client, are made by this user."""
    token = _acting.set(user)
    try:
        yield
    finally:
        _acting.reset(token)


def act_as_handler() -> None:
    """Changes in the current context, and in tasks that it creates, leave no entry in the audit."""
    _acting.set(_HANDLER)


def audit_of(user: str | None, reason: str | None) -> Audit | None:
    """The audit of a change by a client with this user, or by the user of the process. None inside a handler."""
    acting = _acting.get()
    if acting == _HANDLER:
        return None
    return Audit(acting or user or _process_user(), _storable(reason) if reason else None)


@cache
def _process_user() -> str:
    try:
        return _storable(getpass.getuser()) or "unknown"
    except (OSError, KeyError, ImportError):  # a container without an entry for its user
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _storable(text: str) -> str:
    """Text that every store can keep: no lone surrogates, no NUL, and not too long."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\\0")[:_MAX_REASON]
