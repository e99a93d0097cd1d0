"""Interruptions need a process whose loggers are as Python leaves them."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def _no_log_handlers(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """An exception inside a handler of `logging` leaves its lock held. A framework may have set such a handler."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging.getLogger(), "level", logging.CRITICAL)
    monkeypatch.setattr(logging.getLogger("holdfast"), "handlers", [])
    monkeypatch.setattr(logging.getLogger("holdfast"), "disabled", True)
