"""Marks the messages of a process, so that the process ignores its own."""

from __future__ import annotations

import os

from holdfast.core.ids import new_token


class Sender:
    """The sender of messages. A forked child is another sender than its parent."""

    def __init__(self) -> None:
        self._token = new_token()

    @property
    def id(self) -> str:
        return f"{self._token}:{os.getpid()}"
