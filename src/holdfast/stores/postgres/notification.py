"""Hints as the texts of notifications, which are short."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from holdfast.wakeups import Hints

LONGEST: Final = 7900
"""Bytes of a notification; the server takes 7,999."""
MOST: Final = 8
"""Notifications sent at a time. What needs more is told as: look for yourselves."""


class Message(msgspec.Struct, omit_defaults=True, array_like=False):
    """Hints as they travel. Short names: a notification is small."""

    d: list[str] = []
    f: list[str] = []
    l: list[str] = []  # noqa: E741  (it stands on the wire, not in prose)
    r: bool = False
    a: bool = False
    test: str | None = None

    @property
    def hints(self) -> Hints:
        return Hints(set(self.d), set(self.f), set(self.l), self.r, self.a)


def channel(schema: str) -> str:
    """The channel of a schema's wake-ups."""
    return f"holdfast_{schema}"


def payloads(hints: Hints) -> list[str]:
    """Hints as the texts of notifications, each small enough."""
    whole = Message(sorted(hints.due), sorted(hints.finished), sorted(hints.lost), hints.recorded, hints.anything)
    if len(text := msgspec.json.encode(whole)) <= LONGEST:
        return [text.decode()]
    texts = [Message(r=hints.recorded, a=hints.anything)]
    for name, words in (("d", whole.d), ("f", whole.f), ("l", whole.l)):
        for word in words:
            kept: list[str] = getattr(texts[-1], name)
            kept.append(word)
            if len(msgspec.json.encode(texts[-1])) > LONGEST - 300:
                texts.append(Message())
                if len(texts) > MOST:
                    return [msgspec.json.encode(Message(whole.d[:50], r=hints.recorded, a=True)).decode()]
    return [msgspec.json.encode(text).decode() for text in texts]


def testing(word: str) -> list[str]:
    """A word to oneself."""
    return [msgspec.json.encode(Message(test=word)).decode()]


def read(payload: str) -> Message:
    """What somebody said; words that are not ours mean anything."""
    try:
        return msgspec.json.decode(payload, type=Message)
    except msgspec.DecodeError:
        return Message(a=True)


def script(schema: str, texts: Iterable[str]) -> str:
    """One round trip for all of them, and no wait for the disk: losing one costs time, never a job."""
    sent = "; ".join(f"select pg_notify('{channel(schema)}', {_quoted(text)})" for text in texts)
    return f"begin; set local synchronous_commit = off; {sent}; commit"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
