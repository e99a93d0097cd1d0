"""Builds the scripts: one Lua file per verb, with the shared files that its `-- include:` lines name around it.

`-- lazy: NAME` names a shared file that most calls do not need: its functions are created when the script calls
`need_NAME()`.

A `-- flags:` line says what the server may allow: `no-writes` for scripts that only read, `allow-oom` for scripts that
must work at maxmemory. From 7.0 on, the flags are in the first line of the script. Older servers have no such line.
There, a script that must work at maxmemory first deletes a key that never exists: a script that has written may write
more.
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
_DEFINED = re.compile(r"^local (?:function )?(\w+(?:, \w+)*)", re.MULTILINE)
_LOCAL = re.compile(r"^local (?:\w+(?:, \w+)*\n)?", re.MULTILINE)
# Each shared file is wrapped in a function, and the next is nested inside it. Lua then resolves a name in the enclosing
# function directly. On one level, it would search all names of all files: half of the run time of a short script.
_NESTED = "\nreturn (function()\n"
_END = "\nend)()"


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it is sent to the server, and its SHA1 digest, by which the server knows it."""

    verb: str
    source: str
    sha: str


@cache
def script(verb: str, *, script_flags: bool) -> Script:
    """The script of a verb; `script_flags` for servers that support flags."""
    own = _read(f"{verb}.lua")
    sections = _sections(own, {})
    source = _NESTED.join([*sections, own]) + _END * len(sections)
    if script_flags:
        flags = next((line[len(_FLAGS) :] for line in own.splitlines() if line.startswith(_FLAGS)), "")
        source = f"#!lua{f' flags={flags}' if flags else ''}\n{source}"
    # SHA1 because Redis identifies scripts by it; it protects nothing here.
    return Script(verb, source, hashlib.sha1(source.encode()).hexdigest())  # noqa: S324


def _sections(source: str, seen: dict[str, str | None]) -> list[str]:
    """The shared files that a source includes, each once, after the files that it includes itself.

    `seen` maps each file that is present to the lazy file that it is part of, or to None.
    """
    sections: list[str] = []
    for line in source.splitlines():
        directive, _, name = line.partition(": ")
        if directive == _INCLUDE and name not in seen:
            seen[name] = None
            sections += _with_includes(name, seen)
        elif directive == _INCLUDE and seen[name] is not None:
            sections.append(f"need_{seen[name]}()")
        elif directive == _LAZY and name not in seen:
            before = set(seen)
            seen[name] = None
            sections.append(_lazily(name, _with_includes(name, seen)))
            seen.update((each, name) for each in seen.keys() - before)
        elif directive == _LAZY and seen[name] != name:
            owner = "" if seen[name] is None else f"need_{seen[name]}()"
            sections.append(f"local function need_{name}()\n{owner}\nend")
    return sections


def _with_includes(name: str, seen: dict[str, str | None]) -> list[str]:
    shared = _read(f"shared/{name}.lua")
    return [*_sections(shared, seen), shared]


def _lazily(name: str, sections: list[str]) -> str:
    """A function `need_NAME` that defines the names of these sections in the enclosing scope.

    Each section gets its own function, because a Lua function may refer to at most sixty variables outside of it.
    """
    defined = ", ".join(_DEFINED.findall("\n".join(sections)))
    first = defined.partition(",")[0]
    definers = {f"define_{name}_{number}": _LOCAL.sub("", section) for number, section in enumerate(sections)}
    text = [f"local {defined}"]
    text += [f"local function {definer}()\n{section}\nend" for definer, section in definers.items()]
    text += [f"local function need_{name}()", f"if {first} then return end"]
    text += [*(f"{definer}()" for definer in definers), "end"]
    return "\n".join(text)


def _read(path: str) -> str:
    return (files("holdfast.stores.redis.scripts") / path).read_text(encoding="utf-8")
