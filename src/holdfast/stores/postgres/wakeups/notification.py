"""Hints as the texts of notifications, which are short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from holdfast.core.record import Claim
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_TELL = SQL["tell"]
_TELL_COMPLETED = SQL["tell_completed"]

LONGEST: Final = 7900
"""Bytes of a notification; the server takes 7,999."""
FRAME: Final = 200
"""Bytes of it that are left for all but the words."""
MOST: Final = 8
"""Notifications sent at a time. What needs more is told as: look for yourselves."""


class Message(msgspec.Struct, omit_defaults=True, array_like=False):
    """Hints as they travel. Short names: a notification is small."""

    d: list[str] = []
    f: list[str] = []
    l: list[str] = []  # noqa: E741  (it stands on the wire, not in prose)
    r: bool = False
    a: bool = False
    s: str = ""
    """Who says it: nobody heeds their own words, which they have heard before."""
    test: str | None = None

    @property
    def hints(self) -> Hints:
        return Hints(set(self.d), set(self.f), set(self.l), self.r, self.a)


def channel(schema: str) -> str:
    """The channel of a schema's wake-ups."""
    return f"holdfast_{schema}"


def payloads(hints: Hints, sender: str = "") -> list[str]:
    """Hints as the texts of notifications, each small enough."""
    whole = Message(
        sorted(hints.due), sorted(hints.finished), sorted(hints.lost), hints.recorded, hints.anything, sender
    )
    if len(text := msgspec.json.encode(whole)) <= LONGEST:
        return [text.decode()]
    texts, size = [Message(r=hints.recorded, a=hints.anything, s=sender)], 0
    for name, words in (("d", whole.d), ("f", whole.f), ("l", whole.l)):
        for word in words:
            length = len(msgspec.json.encode(word)) + 1
            if size + length > LONGEST - FRAME:
                texts.append(Message(s=sender))
                size = 0
                if len(texts) > MOST:
                    return [msgspec.json.encode(Message(r=hints.recorded, a=True, s=sender)).decode()]
            kept: list[str] = getattr(texts[-1], name)
            kept.append(word)
            size += length
    return [msgspec.json.encode(text).decode() for text in texts]


def testing(word: str) -> list[str]:
    """A word to oneself."""
    return [msgspec.json.encode(Message(test=word)).decode()]


def read(payload: str | bytes) -> Message:
    """What somebody said; words that are not ours mean anything."""
    try:
        return msgspec.json.decode(payload, type=Message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Message(a=True)


UNSYNCED: Final = "set synchronous_commit = off"
"""For a session that only notifies: losing a notification costs time, never a job."""


def script(schema: str, texts: Iterable[str]) -> str:
    """One round trip for all of them, in a session that does not wait for the disk."""
    return "; ".join(f"select pg_notify('{channel(schema)}', {_quoted(text)})" for text in texts)


def whole_script(schema: str, texts: Iterable[str]) -> str:
    """The same for a session that nothing may be left in."""
    return f"begin; set local synchronous_commit = off; {script(schema, texts)}; commit"


class Voice(NamedTuple):
    """How a statement tells its hints by itself: by another, which is sent right behind it."""

    channel: str
    sender: str

    def emit(self, hints: Hints) -> Statement | None:
        """What tells these by one notification; None where it takes more."""
        texts = payloads(hints, self.sender)
        return Statement(_TELL, {"channel": self.channel, "payload": texts[0]}) if len(texts) == 1 else None

    def tell_completed(self, claims: Sequence[Claim]) -> Statement:
        """What tells that chains are finished, those that the attempts under these claims completed."""
        ids, tokens = [claim.job_id for claim in claims], [claim.token for claim in claims]
        return Statement(
            _TELL_COMPLETED, {"channel": self.channel, "sender": self.sender, "ids": ids, "tokens": tokens}
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
