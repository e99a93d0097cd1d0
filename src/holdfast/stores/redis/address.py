"""A Redis address, read: where the servers are, and what of the store's own is set in it.

redis://user:password@host:6379/0?namespace=shop          one server; rediss:// with TLS
redis://?socket=/run/redis.sock                           one server, by a Unix socket
redis+cluster://host:7000,host:7001?namespace=shop        a cluster; rediss+cluster:// with TLS
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from holdfast.stores.password_escaping import split
from holdfast.stores.redis.keys import Keys

SCHEMES = ("redis", "rediss", "redis+cluster", "rediss+cluster")
DEFAULT_PORT = 6379
LAST_PORT = 65535
DEFAULT_TIMEOUT = 5.0
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")

Node = tuple[str, int]
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Address:
    """Everything an address says. `shown` is for people: it holds no password."""

    shown: str
    nodes: tuple[Node, ...]
    cluster: bool
    namespace: str = "holdfast"
    socket: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that any call may take."""
    allow_eviction: bool = False
    wait: int = 0
    """Replicas that must confirm each write."""
    waitaof: int = -1
    """Replicas whose append-only file must hold each write, beside the server's own; -1 asks for none of it."""
    login: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tls: dict[str, Any] | None = None


def read_address(text: str) -> Address:
    """Read an address. ValueError says what is wrong with it, without showing a password."""
    parts = split(text)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a Redis address begins with one of {', '.join(f'{each}://' for each in SCHEMES)}")
    credentials, _, hosts = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    namespace = options.pop("namespace", "holdfast")
    socket = options.pop("socket", None)
    tls = {name: options.pop(name) for name in _TLS if name in options}
    if tls and not parts.scheme.startswith("rediss"):
        raise ValueError(
            f"{', '.join(tls)} of a Redis address is for TLS: begin it with {parts.scheme.replace('redis', 'rediss')}://"
        )
    numbers = {
        "timeout": _number(options, "timeout", DEFAULT_TIMEOUT),
        "wait": _number(options, "wait", 0),
        "waitaof": _number(options, "waitaof", -1),
        "allow_eviction": options.pop("allow_eviction", "0") in ("1", "true", "yes"),
    }
    if options:
        raise ValueError(f"a Redis address has no option {', '.join(sorted(options))}")
    Keys(namespace)
    login: dict[str, Any] = {"db": _database(parts.path)}
    user, _, password = credentials.partition(":")
    if user:
        login["username"] = unquote(user)
    if password:
        login["password"] = unquote(password)
    where = socket or hosts or "localhost"
    return Address(
        shown=f"{parts.scheme}://{where}/{login['db']}?namespace={namespace}",
        nodes=tuple(_node(host) for host in hosts.split(",")),
        cluster=parts.scheme.endswith("+cluster"),
        namespace=namespace,
        socket=socket,
        login=login,
        tls=tls if parts.scheme.startswith("rediss") else None,
        **numbers,  # type: ignore[arg-type]
    )


def _number(options: dict[str, str], name: str, default: N) -> N:
    try:
        return type(default)(options.pop(name, default))
    except ValueError:
        raise ValueError(f"{name} of a Redis address is a number, such as {default}") from None


def _database(path: str) -> int:
    number = path.strip("/")
    if number and not number.isdecimal():
        raise ValueError("the path of a Redis address is the number of a database, such as /0")
    return int(number or 0)


def _node(text: str) -> Node:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        return text.strip("[]") or "localhost", DEFAULT_PORT
    if port and not (port.isdecimal() and 1 <= int(port) <= LAST_PORT):
        # Not repeated: it may be a password whose host was left out.
        raise ValueError(f"the port of a Redis address is a number from 1 to {LAST_PORT}, such as {DEFAULT_PORT}")
    return host.strip("[]") or "localhost", int(port or DEFAULT_PORT)
