"""Finds passwords in addresses, so that they are masked in every text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from holdfast.stores.password_escaping import is_escaped
from holdfast.stores.sharded.address import is_sharded

_NAMES = re.compile(r"pass(word|wd|phrase)?|secret|token|api[_-]?key|credential", re.IGNORECASE)  # wording: names
_USERINFO = re.compile(r"(?:://)?[^:]*:(.*)@", re.DOTALL)
"""From the first colon after the scheme to the last @. This contains the password, whether it is escaped or not."""
_PAIR = re.compile(r"\w*pass(?:word|wd|phrase)\w*\s*=\s*('(?:[^'\\]|\\.)*'|\S+)", re.IGNORECASE)  # wording: pattern
"""A pair in a connection string of libpq: `host=db password='s3cret'`."""

_PORT = re.compile(r"(?:\[[^\]]*\]|[^:,]*):([^,]*),?")
"""The text at the place of the port, for each of several hosts."""
_LAST_PORT = 65535

_OPTION = re.compile(r"(?<=[?&])([^=&#]*)=([^&#]*)")
_ANY_PAIR = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)")

HIDDEN = "***"

TOKEN_SCHEMES = ("nats", "nats+tls")
"""In an address of these schemes a user without a password is a token."""

KNOWN = {
    "schema", "pool", "deadline", "notify", "replica", "wakeups", "namespace", "socket", "timeout", "wait",
    "waitaof", "allow_eviction", "synchronous", "creds", "nkey", "ssl_ca_certs", "ssl_certfile",
    "ssl_keyfile", "ssl_cert_reqs",
    "host", "hostaddr", "port", "user", "dbname", "options", "application_name", "client_encoding",
    "connect_timeout", "fallback_application_name", "gssencmode", "keepalives", "keepalives_count",
    "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts", "passfile", "require_auth",
    "service", "ssl", "sslcert", "sslcrl", "sslcrldir", "sslkey", "sslmode", "sslnegotiation", "sslrootcert",
    "ssl_max_protocol_version", "ssl_min_protocol_version", "target_session_attrs", "tcp_user_timeout",
}  # fmt: skip
"""Options of addresses that contain no secret: those of the stores and of libpq."""


def passwords_in(address: str) -> list[str]:
    """The passwords in an address, both escaped and unescaped."""
    if is_sharded(address):
        return list(
            dict.fromkeys(secret for each in address.split() for secret in passwords_in(each.partition("=")[2]))
        )
    try:
        if "://" not in address or not is_escaped(address):
            raise ValueError("not an address that can be parsed")
        parts = urlsplit(address)
        found = [parts.password] if parts.password else _misplaced(address)
        if parts.scheme in TOKEN_SCHEMES and parts.username and parts.password is None:
            found.append(parts.username)
        query = parse_qsl(parts.query)
        found += [value for name, value in query if _NAMES.search(name)]
        # The address of a replica or of wake-ups inside the address of the store is escaped once more.
        inner = [secret for _, value in query if "://" in value for secret in passwords_in(value)]
        found += [text for secret in inner for text in (secret, quote(secret, safe=""))]
    except ValueError:
        scheme, separator, rest = address.partition("://")
        userinfo = _USERINFO.search(rest if separator else scheme)
        found = [userinfo[1]] if userinfo else _misplaced(address)
        found += [pair[1] for pair in _PAIR.finditer(address)]
    return list(dict.fromkeys(text for secret in found if secret for text in (secret, unquote(secret))))


def masked(address: str) -> str:
    """The address with its passwords masked, and with the values of unknown options masked.

    A misspelt option such as `pasword=` must not show its value.
    """
    if is_sharded(address):
        parts = (each.partition("=") for each in address.split())
        return " ".join(f"{name}={masked(each)}" for name, _, each in parts)
    options = _OPTION if "://" in address else _ANY_PAIR
    return options.sub(_masked_option, hide(address, passwords_in(address)))


def _masked_option(option: re.Match[str]) -> str:
    name, value = option[1], option[2]
    if name not in KNOWN:
        return f"{name}={HIDDEN}"
    inner = unquote(value)
    return f"{name}={quote(masked(inner), safe='*:/?=@') if '://' in inner else value}"


def _misplaced(address: str) -> list[str]:
    """Text in the place of a port that is not a number: a password whose `@host` was left out.

    Returned twice: with all that follows, which may be part of the password, and without.
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
