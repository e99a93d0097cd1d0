"""The scripts: one Lua file per verb, with the shared pieces that its `-- include:` lines name put around it.

`-- lazy:` names a piece that most calls do not need: it is made only when the script calls `need_NAME()`.

A `-- flags:` line says what the server may allow: `no-writes` for what only reads, `allow-oom` for what must work when
memory is full. Servers from 7.0 on are told so in the script's first line; older ones know no such line, and there a
script that must work in a full server first deletes a key that never exists: once a script has written, it may go on.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FLAGS = "-- flags: "
_INCLUDE = "-- include"
_LAZY = "-- lazy"
_MADE = re.compile(r"^local (?:function )?(\w+(?:, \w+)*)", re.MULTILINE)
_LOCAL = re.compile(r"^local (?:\w+(?:, \w+)*\n)?", re.MULTILINE)
# Each piece is inside a function of its own, the next within it: a function then finds what it refers to in the piece
# around it at once. Side by side, Lua would look for each through all that is there: half of a short script's time.
_NESTED = "\nreturn (function()\n"
_END = "\nend)()"


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
    pieces = _pieces(own, {})
    source = _NESTED.join([*pieces, own]) + _END * len(pieces)
    if flagged:
        flags = next((line[len(_FLAGS) :] for line in own.splitlines() if line.startswith(_FLAGS)), "")
        source = f"#!lua{f' flags={flags}' if flags else ''}\n{source}"
    # The digest is how Redis names a script; nothing is kept secret by it.
    return Script(verb, source, hashlib.sha1(source.encode()).hexdigest())  # noqa: S324


def _pieces(source: str, seen: dict[str, str | None]) -> list[str]:
    """The pieces a source includes, each once, after those that it includes itself.

    `seen` holds the pieces that are there, and of each with which lazy one it comes, if it does.
    """
    pieces: list[str] = []
    for line in source.splitlines():
        directive, _, name = line.partition(": ")
        if directive == _INCLUDE and name not in seen:
            seen[name] = None
            pieces += _with_pieces(name, seen)
        elif directive == _INCLUDE and seen[name] is not None:
            pieces.append(f"need_{seen[name]}()")
        elif directive == _LAZY and name not in seen:
            before = set(seen)
            seen[name] = None
            pieces.append(_lazily(name, _with_pieces(name, seen)))
            seen.update((each, name) for each in seen.keys() - before)
        elif directive == _LAZY and seen[name] != name:
            with_another = "" if seen[name] is None else f"need_{seen[name]}()"
            pieces.append(f"local function need_{name}()\n{with_another}\nend")
    return pieces


def _with_pieces(name: str, seen: dict[str, str | None]) -> list[str]:
    piece = _read(f"shared/{name}.lua")
    return [*_pieces(piece, seen), piece]


def _lazily(name: str, pieces: list[str]) -> str:
    """A function that makes what the pieces would, for those around it to see.

    Each has a function of its own for that: none may refer to more than sixty variables outside of it.
    """
    made = ", ".join(_MADE.findall("\n".join(pieces)))
    made_already = made.partition(",")[0]
    makers = {f"make_{name}_{number}": _LOCAL.sub("", piece) for number, piece in enumerate(pieces)}
    text = [f"local {made}"]
    text += [f"local function {maker}()\n{piece}\nend" for maker, piece in makers.items()]
    text += [f"local function need_{name}()", f"if {made_already} then return end"]
    text += [*(f"{maker}()" for maker in makers), "end"]
    return "\n".join(text)


def _read(path: str) -> str:
    return (files("holdfast.stores.redis.scripts") / path).read_text(encoding="utf-8")
