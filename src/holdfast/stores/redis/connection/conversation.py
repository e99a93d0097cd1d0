"""One conversation with a server: what to send, and what its answers mean. No I/O: two drivers carry it out.

Every script may be sent again when its answer was lost, so a cut connection is no more than a delay here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.core.clock import Clock
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable
from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.keys import Keys
from holdfast.stores.redis.script_loader import script
from holdfast.stores.redis.verbs.decode import encode
from holdfast.stores.redis.verbs.script_call import Call

Command = tuple[str | bytes, ...]
"""Text and bytes only: to write a number, hiredis calls `repr`, which runs signal handlers, and does not look whether
one of them raised."""

REMEMBERED = 60.0
"""Seconds that an answer is kept beyond the time in which its request may be sent again: it may arrive late."""
PAUSE = 0.05
"""Seconds before a server that is loading, or a slot that is moving, is asked again."""
MOST_CUTS = 3

TRANSIENT = {"TRYAGAIN", "ASK", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING", "BUSY"}
"""The server is there but cannot serve this just now: a slot moves, a primary is being replaced, data is loading."""


NEEDED = "an ACL as the Redis guide describes it: the commands, the keys and the channels of the namespace"
"""What a user of the server has to be permitted."""
_DENIED = ("NOPERM", "ACL failure", "can't run this command or subcommand", "can't access at least one of the keys")
"""Before 7.0 a script that lacks a permission says so in the middle of an error of its own."""

_WRITE = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '', 'PX', 1)"


class Refused(Exception):
    """An error as an answer. Its first word says which."""

    def __init__(self, text: str) -> None:
        # An unknown command is answered with its arguments, which contain payloads.
        text = text.partition(", with args beginning with:")[0]
        self.word, _, self.rest = text.partition(" ")
        # Before 7.0 a script that may not write here says so in the middle of an error of its own.
        if self.word == "ERR" and "-READONLY " in text:
            self.word = "READONLY"
        if self.word == "ERR" and any(words in text for words in _DENIED):
            self.word = "NOPERM"
        super().__init__(text)


class Cut(Exception):
    """The connection is of no more use; whether the request was heard is unknown."""


CUT = (Cut, OSError)
"""What a connection raises: ours, and the system's, timeouts among them."""


@dataclass(slots=True)
class Dialect:
    """What the server on the other end understands."""

    flagged: bool = False
    """Scripts may begin with a line of flags: from 7.0."""
    publish: str = "PUBLISH"


class Moved(Exception):
    """Another node serves the slot now."""

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__(f"the slot is at {node[0]}:{node[1]}")


class Conversation(Protocol):
    """Commands that go out together, until the answers are what was wanted."""

    def commands(self) -> Iterable[Command]:
        """What to send, each made when the one before is on its way: the server need not wait for all of them."""
        ...

    def accept(self, replies: Sequence[Any]) -> bool:
        """Take the answers; tells whether that was all. False: pause, then send `commands` again.

        Raises Moved, or StoreUnavailable for what will not get better by asking again.
        """
        ...

    @property
    def replies(self) -> list[Any]: ...


class Questions:
    """Plain commands, asked once. An error is an answer like any other."""

    def __init__(self, *commands: Command) -> None:
        self._commands = list(commands)
        self.replies: list[Any] = []

    def commands(self) -> list[Command]:
        return self._commands

    def accept(self, replies: Sequence[Any]) -> bool:
        self.replies = list(replies)
        return not any(isinstance(reply, Refused) and reply.word == "LOADING" for reply in replies)


class Scripts:
    """Scripts by name; those the server does not know are given to it, and asked for again."""

    def __init__(
        self,
        calls: Iterable[Call],
        address: Address,
        *,
        keys: Keys,
        dialect: Dialect,
        clock: Clock | None,
        writes: bool,
    ) -> None:
        self.replies: list[Any] = []
        self._unsent = iter(calls)
        self._calls: dict[int, Call] = {}
        self._address = address
        self._keys = keys
        self._dialect = dialect
        self._clock = clock
        self._confirmed = writes and (address.wait > 0 or address.waitaof >= 0)
        self._remembered = str(int((address.timeout + REMEMBERED) * 1000))
        self._unknown: set[str] = set()
        self._unanswered = self._resent = False

    def commands(self) -> Iterator[Command]:
        # Asked for again before there was an answer: whether the scripts ran the first time is unknown.
        self._resent = self._resent or self._unanswered
        self._unanswered = True
        now = "" if self._clock is None else str(self._clock())
        flagged = self._dialect.flagged
        for verb in sorted(self._unknown):
            yield "SCRIPT", "LOAD", script(verb, flagged=flagged).source
        for call in list(self._calls.values()):
            yield self._evalsha(call, now)
        for call in self._unsent:
            self._calls[len(self.replies)] = call
            self.replies.append(None)
            yield self._evalsha(call, now)
        if self._confirmed:
            yield from self._confirmations()

    def accept(self, replies: Sequence[Any]) -> bool:
        self._unanswered = False
        if not (self._unknown or self._confirmed or Refused in map(type, replies)):
            # Everything asked is answered, as nearly always: no need to look at each.
            for place, reply in zip(self._calls, replies, strict=True):
                self.replies[place] = reply
            self._calls.clear()
            return True
        given, own = replies[: len(self._unknown)], replies[len(self._unknown) :]
        for reply in given:
            if isinstance(reply, Refused) and reply.word not in TRANSIENT:
                raise self._refusal(reply, f"it takes no scripts: {reply}") from reply
        self._unknown = set()
        sent = len(self._calls)
        moved: Moved | None = None
        for (place, call), reply in zip(list(self._calls.items()), own, strict=False):
            if not isinstance(reply, Refused):
                self.replies[place] = reply
                del self._calls[place]
            elif reply.word == "NOSCRIPT":
                self._unknown.add(call.script)
            elif reply.word == "MOVED":
                moved = Moved(_node(reply.rest))
            elif reply.word not in TRANSIENT:
                raise self._refusal(reply, str(reply)) from reply
        # Also where others are still to be sent: that may be to another server, which cannot answer for this one.
        if len(self._calls) < sent and (confirmations := self._confirmations()):
            self._check(confirmations, replies[-len(confirmations) :])
        if moved is not None:
            raise moved
        return not self._calls

    def _refusal(self, reply: Refused, detail: str) -> HoldfastError:
        """What an error that will not pass by itself means for the caller."""
        if reply.word == "NOPERM":
            return NotPermitted(self._address.shown, detail, NEEDED)
        return StoreUnavailable(self._address.shown, detail)

    @property
    def hurried(self) -> bool:
        """Whether the next round needs no pause: the server only has to be told the scripts."""
        return bool(self._unknown)

    def _evalsha(self, call: Call, now: str) -> Command:
        keys = self._keys.declared(call.jobs)
        sha = script(call.script, flagged=self._dialect.flagged).sha
        self._resent = self._resent or call.again
        request = f"{'+' if self._resent else ''}{call.request}"
        frame = (now, self._dialect.publish, request, self._remembered, encode(call.body))
        return ("EVALSHA", sha, str(len(keys)), *keys, *frame, *call.payloads)

    def _confirmations(self) -> list[Command]:
        if not self._confirmed:
            return []
        milliseconds = str(int(self._address.timeout * 1000 / 3))
        commands: list[Command] = []
        if self._resent:
            # Since 7.2 a connection waits for its own writes alone, and scripts that ran before write nothing now.
            # A script, since a full server refuses a plain one; what is deleted first makes an older one take it too.
            flags = "#!lua flags=allow-oom\n" if self._dialect.flagged else ""
            commands.append(("EVAL", f"{flags}{_WRITE}", "1", self._keys.again))
        if self._address.wait > 0:
            commands.append(("WAIT", str(self._address.wait), milliseconds))
        if self._address.waitaof >= 0:
            commands.append(("WAITAOF", "1", str(self._address.waitaof), milliseconds))
        return commands

    def _check(self, confirmations: Sequence[Command], replies: Sequence[Any]) -> None:
        for (name, *counts, _), reply in zip(confirmations, replies, strict=True):
            if isinstance(reply, Refused):
                raise StoreUnavailable(self._address.shown, f"written, but not confirmed: {reply}") from reply
            if name == "EVAL":
                continue
            # WAIT answers a number, WAITAOF one for the server's own file and one for its replicas'.
            confirmed: list[int] = [reply] if isinstance(reply, int) else reply
            if any(got < int(least) for got, least in zip(confirmed, counts, strict=True)):
                detail = f"written, but confirmed by {confirmed} where {counts} were asked for"
                raise StoreUnavailable(self._address.shown, detail)


def _node(moved: str) -> Node:
    """From `3999 127.0.0.1:6381`."""
    host, _, port = moved.split(" ")[1].rpartition(":")
    return host, int(port)
