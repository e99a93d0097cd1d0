"""Passwords in addresses: found, so that they are never shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from holdfast.stores.escaping import is_escaped

_NAMES = re.compile(r"pass(word|wd|phrase)?|secret|token|api[_-]?key|credential", re.IGNORECASE)
_USERINFO = re.compile(r"(?:://)?[^:]*:(.*)@", re.DOTALL)
"""The first colon, but that of the scheme, to the last @: there is no password outside of it, whatever is escaped."""
_PAIR = re.compile(r"\w*pass(?:word|wd|phrase)\w*\s*=\s*('(?:[^'\\]|\\.)*'|\S+)", re.IGNORECASE)
"""As in a connection string of libpq's: `host=db password='s3cret'`."""

_PORT = re.compile(r"(?:\[[^\]]*\]|[^:,]*):([^,]*),?")
"""Of one host among several, what stands where its port does."""
_LAST_PORT = 65535

HIDDEN = "***"


def passwords_in(address: str) -> list[str]:
    """The passwords that an address holds, as written and as meant."""
    try:
        if "://" not in address or not is_escaped(address):
            raise ValueError("not an address that can be taken apart")
        parts = urlsplit(address)
        found = [parts.password] if parts.password else _misplaced(address)
        query = parse_qsl(parts.query)
        found += [value for name, value in query if _NAMES.search(name)]
        # A replica's address, or that of the wake-ups, within the store's, where it is written with yet more escapes.
        inner = [secret for _, value in query if "://" in value for secret in passwords_in(value)]
        found += [text for secret in inner for text in (secret, quote(secret, safe=""))]
    except ValueError:
        scheme, separator, rest = address.partition("://")
        userinfo = _USERINFO.search(rest if separator else scheme)
        found = [userinfo[1]] if userinfo else _misplaced(address)
        found += [pair[1] for pair in _PAIR.finditer(address)]
    return list(dict.fromkeys(text for secret in found if secret for text in (secret, unquote(secret))))


def _misplaced(address: str) -> list[str]:
    """What stands where a port should and cannot be one: a password whose `@host` was left out.

    With all that follows it, which may be more of it, and without.
    """
    hosts = re.split(r"[/?#]", address.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    for port in _PORT.finditer(hosts):
        if port[1] and not (port[1].isdecimal() and int(port[1]) <= _LAST_PORT):
            rest = hosts[port.start(1) :]
            return [address[address.index(hosts) + port.start(1) :], rest]
    return []


def hide(text: str, passwords: Iterable[str]) -> str:
    """The text without these passwords."""
    for password in sorted(passwords, key=len, reverse=True):
        text = text.replace(password, HIDDEN)
    return text
