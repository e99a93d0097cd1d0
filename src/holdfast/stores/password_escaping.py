"""Refuses addresses with a password that is not percent-encoded.

In `postgresql://app:ge/heim@db/shop`, every URL parser ends the password at the slash. The rest of the password would
be shown as a port, a path or an option.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

FILES = ("sqlite", "memory")
"""Schemes without a user: an @ is part of the file name."""

_PARTS = re.compile(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")


def split(address: str) -> SplitResult:
    """Split an address. The text of a ValueError contains no part of the address."""
    check_escaped(address)
    try:
        return urlsplit(address)
    except ValueError:
        # Without the original text, which may quote the address.
        raise ValueError(
            "the address cannot be read; special characters in its user and password must be percent-encoded"
        ) from None


def check_escaped(address: str) -> None:
    """Refuse an address whose password is not escaped; see `is_escaped`."""
    if not is_escaped(address):
        raise ValueError(
            "a password with / ? # @ must be percent-encoded in the address: / is %2F, ? %3F, # %23, @ %40"
        )


def is_escaped(address: str) -> bool:
    """Whether each @ is directly before the host or in the value of an option, so that no password contains one."""
    scheme, separator, rest = address.partition("://")
    parts = _PARTS.fullmatch(rest)
    if not separator or parts is None:
        return True
    authority, path, query, fragment = (part or "" for part in parts.groups())
    if "@" in fragment or authority.count("@") > 1 or ("@" in path and scheme not in FILES):
        return False
    options = [option.partition("=") for option in query.split("&")]
    hosts = authority.rpartition("@")[2].split(",")
    if "@" in query and not all(_HOST.fullmatch(host) for host in hosts):
        return False
    # An address inside an option is percent-encoded once more.
    return all("@" not in name and is_escaped(unquote(value)) for name, _, value in options)
