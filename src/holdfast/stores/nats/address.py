"""Parses the address of NATS wake-ups.

nats://user:password@host:4222?namespace=shop     one server
nats://token@host:4222                            a token instead of user and password
nats+tls://host:4222,host:4223?creds=shop.creds   several servers of a cluster, TLS, a credentials file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote

from holdfast.stores.password_escaping import split

SCHEMES = ("nats", "nats+tls")
DEFAULT_PORT = 4222
LAST_PORT = 65535
DEFAULT_TIMEOUT = 5.0
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
_FILES = ("creds", "nkey")

Node = tuple[str, int]


@dataclass(frozen=True, slots=True)
class NatsAddress:
    """A parsed address. `shown` is for logs and errors: it contains no password."""

    shown: str
    nodes: tuple[Node, ...]
    namespace: str = "holdfast"
    timeout: float = DEFAULT_TIMEOUT
    """Time limit of a connection and of a publish, in seconds."""
    login: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Fields of the command CONNECT: user and pass, or auth_token."""
    creds: str | None = None
    """A file with a JWT and the seed of its NKEY."""
    nkey: str | None = None
    """A file with the seed of an NKEY."""
    tls: dict[str, str] | None = None
    """Options of TLS; None: TLS only if the server requires it."""

    @property
    def subject(self) -> str:
        """The subject of the namespace. All characters with a meaning in a subject are percent-encoded."""
        return f"holdfast.{quote(self.namespace, safe='').replace('.', '%2E').replace('~', '%7E')}.wake"


def read_address(text: str) -> NatsAddress:
    """Parse an address. The ValueError for a wrong address contains no password."""
    parts = split(text)
    if parts.scheme not in SCHEMES:
        raise ValueError("a NATS address begins with nats:// or nats+tls://")
    if parts.path.strip("/"):
        raise ValueError("a NATS address has no path; the namespace is an option: ?namespace=shop")
    credentials, _, hosts = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    namespace = options.pop("namespace", "holdfast")
    if not namespace:
        raise ValueError("the namespace of a NATS address is not empty")
    timeout = _seconds(options.pop("timeout", str(DEFAULT_TIMEOUT)))
    tls = {name: options.pop(name) for name in _TLS if name in options}
    if tls and parts.scheme != "nats+tls":
        raise ValueError(f"{', '.join(tls)} of a NATS address is for TLS: begin it with nats+tls://")
    files = {name: options.pop(name) for name in _FILES if name in options}
    if options:
        raise ValueError(f"a NATS address has no option {', '.join(sorted(options))}")
    if bool(credentials) + len(files) > 1:
        raise ValueError("a NATS address has a user and password, a token, creds= or nkey=, not several of them")
    return NatsAddress(
        shown=f"{parts.scheme}://{hosts or 'localhost'}?namespace={quote(namespace, safe='')}",
        nodes=tuple(_node(host) for host in hosts.split(",")),
        namespace=namespace,
        timeout=timeout,
        login=_login(credentials),
        creds=files.get("creds"),
        nkey=files.get("nkey"),
        tls=tls if parts.scheme == "nats+tls" else None,
    )


def _login(credentials: str) -> dict[str, str]:
    user, colon, password = credentials.partition(":")
    if colon:
        return {"user": unquote(user), "pass": unquote(password)}
    return {"auth_token": unquote(user)} if user else {}


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"timeout of a NATS address is a number, such as {DEFAULT_TIMEOUT}") from None


def _node(text: str) -> Node:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        return text.strip("[]") or "localhost", DEFAULT_PORT
    if port and not (port.isdecimal() and 1 <= int(port) <= LAST_PORT):
        # The message does not repeat the text: it may be a password in an address without a host.
        raise ValueError(f"the port of a NATS address is a number from 1 to {LAST_PORT}, such as {DEFAULT_PORT}")
    return host.strip("[]") or "localhost", int(port or DEFAULT_PORT)
