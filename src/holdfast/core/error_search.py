"""Search for text in stored errors: case-insensitive, with the same result on every store.

Every store can convert the ASCII letters of an error to lower case. For other letters the stores have no common rule,
so they get the letters of the searched text as replacements: an upper-case letter, and its lower-case form.
"""

from __future__ import annotations

import string
from typing import NamedTuple

import msgspec

from holdfast.core.failure import read_error

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class ErrorSearch(NamedTuple):
    """A text to search for, in lower case, and the replacements to make in an error before the search."""

    text: str
    replacements: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, text: str) -> ErrorSearch:
        """The search for a text as the user typed it."""
        pairs: dict[str, str] = {}
        for letter in text:
            lower, upper = letter.lower(), letter.upper()
            if len(lower) == len(upper) == 1 and lower != upper and not (lower.isascii() or upper.isascii()):
                pairs[upper] = lower
        return cls(_folded(text, tuple(pairs.items())), tuple(pairs.items()))

    def finds(self, stored: bytes | None) -> bool:
        """Whether the text occurs in the line `Type: message` of a stored error. The traceback is not searched."""
        try:
            error = read_error(stored)
        except msgspec.MsgspecError:
            return False
        return error is not None and self.text in _folded(str(error), self.replacements)


def _folded(text: str, replacements: tuple[tuple[str, str], ...]) -> str:
    text = text.translate(_LOWER)
    for upper, lower in replacements:
        text = text.replace(upper, lower)
    return text
