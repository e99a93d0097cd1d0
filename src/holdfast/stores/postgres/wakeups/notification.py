"""NOTIFY statements, and hints as payloads of notifications, which are limited in size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from holdfast.core.record import Claim
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_NOTIFY = SQL["notify"]
_NOTIFY_COMPLETED = SQL["notify_completed"]

MAX_PAYLOAD: Final = 7900
"""The maximum bytes of a payload. The limit of the server is 7,999."""
RESERVED: Final = 200
"""Bytes of a payload that are reserved for everything except the names."""
MAX_PAYLOADS: Final = 8
"""Above this number of notifications, send `anything=True` instead of the names."""


class NotificationContent(msgspec.Struct, omit_defaults=True, array_like=False):
    """The content of a notification. The field names are short because the payload is limited."""

    d: list[str] = []
    f: list[str] = []
    l: list[str] = []  # noqa: E741  (a key in the payload)
    r: bool = False
    a: bool = False
    w: list[str] = []
    s: str = ""
    """Sender id, so that a process ignores its own notifications."""
    test: str | None = None

    @property
    def hints(self) -> Hints:
        return Hints(set(self.d), set(self.f), set(self.l), self.r, self.a, set(self.w))


def channel(schema: str) -> str:
    """The name of the channel for wake-ups of a schema."""
    return f"holdfast_{schema}"


def payloads(hints: Hints, sender: str = "") -> list[str]:
    """Encode hints as payloads, each below the size limit."""
    whole = NotificationContent(
        sorted(hints.due), sorted(hints.finished), sorted(hints.lost), hints.recorded, hints.anything,
        sorted(hints.workers), sender,
    )  # fmt: skip
    if len(text := msgspec.json.encode(whole)) <= MAX_PAYLOAD:
        return [text.decode()]
    messages, size = [NotificationContent(r=hints.recorded, a=hints.anything, s=sender)], 0
    for field, names in (("d", whole.d), ("f", whole.f), ("l", whole.l), ("w", whole.w)):
        for name in names:
            length = len(msgspec.json.encode(name)) + 1
            if size + length > MAX_PAYLOAD - RESERVED:
                messages.append(NotificationContent(s=sender))
                size = 0
                if len(messages) > MAX_PAYLOADS:
                    return [msgspec.json.encode(NotificationContent(r=hints.recorded, a=True, s=sender)).decode()]
            kept: list[str] = getattr(messages[-1], field)
            kept.append(name)
            size += length
    return [msgspec.json.encode(message).decode() for message in messages]


def testing(text: str) -> list[str]:
    """The payload of a test notification to this process."""
    return [msgspec.json.encode(NotificationContent(test=text)).decode()]


def read(payload: str | bytes) -> NotificationContent:
    """Decode a payload. A payload in another format means `anything=True`."""
    try:
        return msgspec.json.decode(payload, type=NotificationContent)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return NotificationContent(a=True)


UNSYNCED: Final = "set synchronous_commit = off"
"""For a session that only notifies: a lost notification costs time, never a job."""


def script(schema: str, texts: Iterable[str]) -> str:
    """Statements that send all payloads in one round trip, for a session with `UNSYNCED`."""
    return "; ".join(f"select pg_notify('{channel(schema)}', {_quoted(text)})" for text in texts)


def whole_script(schema: str, texts: Iterable[str]) -> str:
    """The same for a session whose settings must not change."""
    return f"begin; set local synchronous_commit = off; {script(schema, texts)}; commit"


class PipelinedNotify(NamedTuple):
    """Creates the NOTIFY statement that is pipelined behind a statement, to send its hints."""

    channel: str
    sender: str

    def hints(self, hints: Hints) -> Statement | None:
        """The statement that sends these hints; None if they need several notifications."""
        texts = payloads(hints, self.sender)
        return Statement(_NOTIFY, {"channel": self.channel, "payload": texts[0]}) if len(texts) == 1 else None

    def completed(self, claims: Sequence[Claim]) -> Statement:
        """The statement that reports the chains which the attempts with these claims completed."""
        ids, tokens = [claim.job_id for claim in claims], [claim.token for claim in claims]
        return Statement(
            _NOTIFY_COMPLETED, {"channel": self.channel, "sender": self.sender, "ids": ids, "tokens": tokens}
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
