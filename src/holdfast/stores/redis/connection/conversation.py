"""One conversation with a server: the commands to send, and what their replies mean. No I/O: the pools do that.

Every script may be sent again if its reply was lost, so a lost connection only causes a delay here.
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
from holdfast.stores.redis.verbs.encode import pack
from holdfast.stores.redis.verbs.script_call import ScriptCall

Command = tuple[str | bytes, ...]
"""Text and bytes only. For a number, hiredis calls `repr`; that runs signal handlers, and hiredis ignores an exception
that such a handler raises."""

SAVED_REPLY_SECONDS = 60.0
"""How much longer a reply is saved than its request may be sent again: a request can arrive late."""

TRANSIENT = {"TRYAGAIN", "ASK", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING", "BUSY"}
"""Codes of temporary errors: a slot is moving, a master is being replaced, the server is loading its data."""

NEEDED = "an ACL as the Redis guide describes it: the commands, the keys and the channels of the namespace"
"""The permissions that a user of the server needs."""
_DENIED = ("NOPERM", "ACL failure", "can't run this command or subcommand", "can't access at least one of the keys")
"""Before 7.0 the error of a script that lacks a permission has the code ERR and one of these texts."""

_WRITE = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '', 'PX', 1)"


class ErrorReply(Exception):
    """An error that the server replied to a command. `code` is its first part, such as NOSCRIPT."""

    def __init__(self, text: str) -> None:
        # The reply to an unknown command repeats the arguments, which contain payloads.
        text = text.partition(", with args beginning with:")[0]
        self.code, _, self.detail = text.partition(" ")
        # Before 7.0 the error of a script that cannot write has the code ERR and contains READONLY.
        if self.code == "ERR" and "-READONLY " in text:
            self.code = "READONLY"
        if self.code == "ERR" and any(denial in text for denial in _DENIED):
            self.code = "NOPERM"
        super().__init__(text)


class ConnectionLost(Exception):
    """The connection failed. It is unknown whether the server received the request."""


CONNECTION_ERRORS = (ConnectionLost, OSError)
"""What a connection raises: its own error, and the errors of sockets, timeouts included."""


@dataclass(slots=True)
class ServerFeatures:
    """What the server's version supports."""

    script_flags: bool = False
    """Scripts may begin with a line of flags: from 7.0."""
    publish: str = "PUBLISH"
    """The command that publishes a wake-up: SPUBLISH in a cluster from 7.0."""


class SlotMoved(Exception):
    """Another node serves the slot now."""

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__(f"the slot is at {node[0]}:{node[1]}")


class Conversation(Protocol):
    """Commands that are sent together, repeated until the replies are complete."""

    def commands(self) -> Iterable[Command]:
        """The commands to send. Each is built after the one before was sent, so the server can start early."""
        ...

    def accept(self, replies: Sequence[Any]) -> bool:
        """Take the replies. True: complete. False: pause, then send `commands` again.

        Raises SlotMoved, or StoreUnavailable for an error that sending again cannot solve.
        """
        ...

    @property
    def replies(self) -> list[Any]: ...

    @property
    def retry_at_once(self) -> bool:
        """Whether the next round needs no pause."""
        ...


class CommandConversation:
    """Plain commands, sent once. An error reply is a reply like any other."""

    retry_at_once = False

    def __init__(self, *commands: Command) -> None:
        self._commands = list(commands)
        self.replies: list[Any] = []

    def commands(self) -> list[Command]:
        return self._commands

    def accept(self, replies: Sequence[Any]) -> bool:
        self.replies = list(replies)
        return not any(isinstance(reply, ErrorReply) and reply.code == "LOADING" for reply in replies)


class ScriptSettings:
    """What all script calls of a store have in common."""

    def __init__(self, address: Address, keys: Keys, features: ServerFeatures) -> None:
        self.address = address
        self.keys = keys
        self.features = features
        self.confirms_writes = address.wait > 0 or address.waitaof >= 0
        self.save_milliseconds = str(int((address.timeout + SAVED_REPLY_SECONDS) * 1000))


class ScriptConversation:
    """Scripts, called by their digest. Scripts that the server does not know are loaded and called again."""

    def __init__(
        self, calls: Iterable[ScriptCall], settings: ScriptSettings, clock: Clock | None, *, writes: bool
    ) -> None:
        self.replies: list[Any] = []
        self._unsent = iter(calls)
        self._calls: dict[int, ScriptCall] = {}
        self._settings = settings
        self._clock = clock
        self._confirmed = writes and settings.confirms_writes
        self._missing: set[str] = set()
        self._in_flight = self._resent = False

    def commands(self) -> Iterator[Command]:
        # Sent again without a reply to the first time: the scripts may have run already.
        self._resent = self._resent or self._in_flight
        self._in_flight = True
        now = "" if self._clock is None else str(self._clock())
        if self._missing:
            script_flags = self._settings.features.script_flags
            for verb in sorted(self._missing):
                yield "SCRIPT", "LOAD", script(verb, script_flags=script_flags).source
        if self._calls:
            for call in list(self._calls.values()):
                yield self._evalsha(call, now)
        for call in self._unsent:
            self._calls[len(self.replies)] = call
            self.replies.append(None)
            yield self._evalsha(call, now)
        if self._confirmed:
            yield from self._confirmations()

    def accept(self, replies: Sequence[Any]) -> bool:
        self._in_flight = False
        if not (self._missing or self._confirmed or ErrorReply in map(type, replies)):
            # The usual case: every call has its reply, so no reply has to be examined.
            if len(replies) == len(self.replies):
                self.replies[:] = replies
            else:
                for position, reply in zip(self._calls, replies, strict=True):
                    self.replies[position] = reply
            self._calls.clear()
            return True
        given, own = replies[: len(self._missing)], replies[len(self._missing) :]
        for reply in given:
            if isinstance(reply, ErrorReply) and reply.code not in TRANSIENT:
                raise self._refusal(reply, f"the server accepts no scripts: {reply}") from reply
        self._missing = set()
        sent = len(self._calls)
        moved: SlotMoved | None = None
        for (position, call), reply in zip(list(self._calls.items()), own, strict=False):
            if not isinstance(reply, ErrorReply):
                self.replies[position] = reply
                del self._calls[position]
            elif reply.code == "NOSCRIPT":
                self._missing.add(call.script)
            elif reply.code == "MOVED":
                moved = SlotMoved(_node(reply.detail))
            elif reply.code not in TRANSIENT:
                raise self._refusal(reply, str(reply)) from reply
        # Also if other calls must be sent again: those may go to another server, which cannot confirm these writes.
        if len(self._calls) < sent and (confirmations := self._confirmations()):
            self._check(confirmations, replies[-len(confirmations) :])
        if moved is not None:
            raise moved
        return not self._calls

    def _refusal(self, reply: ErrorReply, detail: str) -> HoldfastError:
        """The exception for an error that sending again cannot solve."""
        if reply.code == "NOPERM":
            return NotPermitted(self._settings.address.shown, detail, NEEDED)
        return StoreUnavailable(self._settings.address.shown, detail)

    @property
    def retry_at_once(self) -> bool:
        """True if the next round only has to load missing scripts."""
        return bool(self._missing)

    def _evalsha(self, call: ScriptCall, now: str) -> Command:
        settings = self._settings
        features = settings.features
        keys = settings.keys.declared(call.jobs)
        sha = script(call.script, script_flags=features.script_flags).sha
        self._resent = self._resent or call.resent
        request = f"+{call.request}" if self._resent else call.request
        body = pack(call.body)
        return (
            "EVALSHA", sha, str(len(keys)), *keys,
            now, features.publish, request, settings.save_milliseconds, body, *call.payloads,
        )  # fmt: skip

    def _confirmations(self) -> list[Command]:
        if not self._confirmed:
            return []
        milliseconds = str(int(self._settings.address.timeout * 1000 / 3))
        commands: list[Command] = []
        if self._resent:
            # From 7.2 on, WAIT covers only writes of its own connection. A script that ran before writes nothing when
            # it is sent again. So a script writes a key here: a server at maxmemory would reject a plain SET. The
            # script begins with DEL: before 7.0, such a server accepts SET only from a script that has written before.
            flags = "#!lua flags=allow-oom\n" if self._settings.features.script_flags else ""
            commands.append(("EVAL", f"{flags}{_WRITE}", "1", self._settings.keys.confirmation))
        if self._settings.address.wait > 0:
            commands.append(("WAIT", str(self._settings.address.wait), milliseconds))
        if self._settings.address.waitaof >= 0:
            commands.append(("WAITAOF", "1", str(self._settings.address.waitaof), milliseconds))
        return commands

    def _check(self, confirmations: Sequence[Command], replies: Sequence[Any]) -> None:
        for (name, *counts, _), reply in zip(confirmations, replies, strict=True):
            if isinstance(reply, ErrorReply):
                raise StoreUnavailable(self._settings.address.shown, f"written, but not confirmed: {reply}") from reply
            if name == "EVAL":
                continue
            # WAIT replies a number, WAITAOF two: one for the server's own file, one for the replicas.
            confirmed: list[int] = [reply] if isinstance(reply, int) else reply
            wanted = [int(str(count)) for count in counts]
            if any(got < least for got, least in zip(confirmed, wanted, strict=True)):
                detail = f"written, but confirmed by {confirmed} where {wanted} were asked for"
                raise StoreUnavailable(self._settings.address.shown, detail)


def _node(moved: str) -> Node:
    """The node in the detail of a MOVED error, such as `3999 127.0.0.1:6381`."""
    host, _, port = moved.split(" ")[1].rpartition(":")
    return host, int(port)
