"""The line of each key in a TOML text. The standard parser does not give line numbers."""

from __future__ import annotations

import re

KeyPath = tuple[str, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]\]?")
_SETTING = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=")
# Strings and comments, in which brackets and equals signs have no meaning; the longest quotes first.
_OPAQUE = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]')


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line of each table and key in a text that parses. Keys of an inline table have the line of the table."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    depth, quotes = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        rest = line
        if depth == 0 and not quotes:
            if header := _HEADER.match(line):
                table = _parts(header[1])
                found.setdefault(table, number)
                continue
            if setting := _SETTING.match(line):
                found.setdefault(table + _parts(setting[1]), number)
                rest = line[setting.end() :]
        depth, quotes = _follow(rest, depth, quotes)
    return found


def line_of(found: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of a key, or of the nearest table that contains it; None if the text has neither."""
    while path:
        if path in found:
            return found[path]
        path = path[:-1]
    return None


def _follow(line: str, depth: int, quotes: str) -> tuple[int, str]:
    """The depth of brackets, and the kind of an open long string, at the end of a line."""
    position = 0
    while position < len(line):
        if quotes:
            end = line.find(quotes, position)
            if end < 0:
                return depth, quotes
            position, quotes = end + len(quotes), ""
            continue
        match = _OPAQUE.search(line, position)
        if match is None:
            break
        position = match.end()
        if match[0] in ('"""', "'''"):
            quotes = match[0]
        elif match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
    return depth, quotes


def _parts(dotted: str) -> KeyPath:
    return tuple(each.strip("\"'") for each in re.findall(_KEY, dotted))
