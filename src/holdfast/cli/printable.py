"""Text from jobs, without characters that control a terminal.

Names, keys, errors and payloads may contain anything: escape sequences that rewrite the screen or the window's title,
line feeds that forge a line, characters that change the direction of text. All of them are shown as escapes.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

# Controls, format characters (bidi, zero-width, tags), surrogates, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str) -> str:
    """The text on one line, with every character that controls a terminal escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def printable_lines(text: str) -> str:
    """Likewise for text of several lines, such as a traceback. The lines stay."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))


def write_json(document: Any, *, indent: int | None = None) -> str:
    """A document as JSON in ASCII. Other characters, and those that control a terminal, are escaped."""
    # DEL is the only ASCII control character that JSON does not escape.
    return json.dumps(document, indent=indent).replace("\x7f", "\\u007f")


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape").decode()
