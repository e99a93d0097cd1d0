"""Passwords in addresses: found, so that they are never shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlsplit

_NAMES = re.compile(r"pass(word|wd|phrase)?|secret|token|api[_-]?key|credential", re.IGNORECASE)

HIDDEN = "***"


def passwords_in(address: str) -> list[str]:
    """The passwords that an address holds, as written and as meant."""
    try:
        parts = urlsplit(address)
        found = [parts.password] if parts.password else []
        query = parse_qsl(parts.query)
        found += [value for name, value in query if _NAMES.search(name)]
        # A replica's address, or that of the wake-ups, within the store's, where it is written with yet more escapes.
        inner = [secret for _, value in query if "://" in value for secret in passwords_in(value)]
        found += [text for secret in inner for text in (secret, quote(secret, safe=""))]
    except ValueError:
        # Not an address that can be taken apart; what stands between the scheme and the host is hidden all the same.
        userinfo = re.search(r"://([^@]*)@", address)
        found = [userinfo[1].partition(":")[2]] if userinfo else []
    return list(dict.fromkeys(text for secret in found if secret for text in (secret, unquote(secret))))


def hide(text: str, passwords: Iterable[str]) -> str:
    """The text without these passwords."""
    for password in sorted(passwords, key=len, reverse=True):
        text = text.replace(password, HIDDEN)
    return text
