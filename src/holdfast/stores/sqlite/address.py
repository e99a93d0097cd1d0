"""The address of a SQLite store and its options: `sqlite:///jobs.db?synchronous=normal&timeout=10`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast
from urllib.parse import parse_qsl, unquote

from holdfast.stores.password_escaping import split

Synchronous = Literal["full", "normal"]


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A file and its options."""

    path: Path
    synchronous: Synchronous = "full"
    """With `normal` a power failure may undo the last commits; a crash of the process does not."""
    timeout: float = 30.0
    """Seconds that a write waits for other writes."""
    wakeups: str | None = field(default=None, repr=False)
    """The address of the wake-ups, instead of the wake-ups through the file."""

    @property
    def name(self) -> str:
        return f"sqlite:///{self.path}"


def parse(url: str) -> SqliteAddress:
    """Parse an address. The ValueError explains what is wrong and shows a correct address."""
    parts = split(url)
    if parts.scheme != "sqlite":
        raise ValueError(f"{parts.scheme}:// is not the address of a SQLite store, which begins with sqlite:///")
    if parts.netloc:
        raise ValueError(
            "a SQLite address has three slashes before a relative path and four before an absolute one: "
            "sqlite:///jobs.db, sqlite:////var/lib/jobs.db"
        )
    path = unquote(parts.path.removeprefix("/"))
    if not path or path == ":memory:" or "mode=memory" in parts.query:
        raise ValueError("a SQLite store is a file, such as sqlite:///jobs.db; to keep jobs in memory use memory://")
    if parts.fragment or "\0" in path:
        raise ValueError("a SQLite address has no #fragment; write # in a file name as %23")
    address = SqliteAddress(Path(path))
    given: set[str] = set()
    for name, value in parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)):
        if name in given:
            raise ValueError(f"{name} is given twice in the SQLite address")
        given.add(name)
        address = _with_option(address, name, value)
    return address


def _with_option(address: SqliteAddress, name: str, value: str) -> SqliteAddress:
    match name:
        case "synchronous" if value.lower() in ("full", "normal"):
            return replace(address, synchronous=cast(Synchronous, value.lower()))
        case "synchronous":
            raise ValueError(f"synchronous is full or normal, not {value!r}")
        case "timeout":
            try:
                timeout = float(value)
            except ValueError:
                timeout = 0.0
            if not 0 < timeout <= 3600:
                raise ValueError(f"timeout is a number of seconds, such as 30, not {value!r}")
            return replace(address, timeout=timeout)
        case "wakeups":
            return replace(address, wakeups=value or None)
        case _:
            raise ValueError(f"a SQLite address has no option {name!r}; there are synchronous, timeout and wakeups")
