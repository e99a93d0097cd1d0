"""The scripts: one Lua file per verb, with the shared pieces that its `-- include:` lines name put before it.

A `-- flags:` line says what the server may allow: `no-writes` for what only reads, `allow-oom` for what must work when
memory is full. Servers from 7.0 on are told so in the script's first line; older ones know no such line, and there a
script that must work in a full server first deletes a key that never exists: once a script has written, it may go on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FLAGS = "-- flags: "
_INCLUDE = "-- include: "


@dataclass(frozen=True, slots=True)
class Script:
    """A script as the server gets it, and the name the server knows it by."""

    verb: str
    source: str
    sha: str


@cache
def script(verb: str, *, flagged: bool) -> Script:
    """The script of a verb; `flagged` for servers that know flags."""
    own = _read(f"{verb}.lua")
    source = "\n".join([*_pieces(own, set()), own])
    if flagged:
        flags = next((line[len(_FLAGS) :] for line in own.splitlines() if line.startswith(_FLAGS)), "")
        source = f"#!lua{f' flags={flags}' if flags else ''}\n{source}"
    # The digest is how Redis names a script; nothing is kept secret by it.
    return Script(verb, source, hashlib.sha1(source.encode()).hexdigest())  # noqa: S324


def _pieces(source: str, seen: set[str]) -> list[str]:
    """The pieces a source includes, each once, after those that it includes itself."""
    pieces: list[str] = []
    for line in source.splitlines():
        name = line.removeprefix(_INCLUDE)
        if name != line and name not in seen:
            seen.add(name)
            piece = _read(f"shared/{name}.lua")
            pieces += [*_pieces(piece, seen), piece]
    return pieces


def _read(path: str) -> str:
    return (files("holdfast.stores.redis.scripts") / path).read_text(encoding="utf-8")
