"""Finds the shard of an id, a key, a schedule or a type. Pure: no clock, no I/O.

A generated id begins with the name of its shard and `~`. Everything else is placed by a stable hash of its text over
the names of the shards. With one more shard, only the texts that the new shard takes over change their place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

from holdfast.core.ids import SHARD_END
from holdfast.errors import WrongShard

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,30}[A-Za-z0-9])?")
_TICK: Final = re.compile(r"schedule:(.+):\d{4}-\d\d-\d\dT[0-9:.]+Z", re.DOTALL)
_FIRED: Final = re.compile(r"(:fire)+$")
"""Before the time in the id of a chain that `fire` started. The name of a schedule may end with it too."""


def check_name(name: str) -> str:
    """The name of a shard. ValueError if it cannot begin an id."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise TypeError(f"the name of a shard is text, not {type(name).__name__}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r:.60} is no name of a shard: 1 to 32 letters, digits, '.', '_' and '-', the first and the last a "
            "letter or a digit"
        )
    return name


class Routing:
    """The places of everything on these shards. Equal names give equal places, in every process and version."""

    def __init__(self, names: Iterable[str], home: Callable[[str], str] | None = None) -> None:
        self.names: tuple[str, ...] = tuple(check_name(name) for name in names)
        self._known = frozenset(self.names)
        self._home = self._highest if home is None else home
        """Places a text without the name of a shard. Tests place everything on one shard."""

    def of_id(self, id: str) -> str:
        """The shard of a chain or job."""
        name, end, _ = id.partition(SHARD_END)
        if end and name in self._known:
            return name
        if id.startswith("schedule:") and (tick := _TICK.fullmatch(id)):
            return self.of_schedule(tick[1])
        return self._home(f"id\0{id}")

    def of_key(self, type: str, key: str) -> str:
        """The shard of all chains of a type with this key."""
        return self._home(f"key\0{type}\0{key}")

    def of_schedule(self, name: str) -> str:
        """The shard of a schedule and of the chains that it starts."""
        return self._home(f"schedule\0{_FIRED.sub('', name)}")

    def of_name(self, name: str) -> str:
        """The shard that records changes of what exists on all shards: a type, a limit or a worker."""
        return self._home(f"name\0{name}")

    def check_known(self, name: str) -> str:
        """The name of an existing shard."""
        if name not in self._known:
            raise WrongShard(f"there is no shard {name!r}; the shards are {', '.join(self.names)}")
        return name

    def _highest(self, text: str) -> str:
        """Rendezvous hashing: the shard with the highest number for this text."""
        encoded = text.encode("utf-8", "surrogatepass")
        return max(
            self.names,
            key=lambda name: hashlib.blake2b(encoded, digest_size=8, key=name.encode()).digest(),
        )
