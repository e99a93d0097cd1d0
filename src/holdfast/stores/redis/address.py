"""Parses the address of a Redis store.

redis://user:password@host:6379/0?namespace=shop               one server; rediss:// with TLS
redis://?socket=/run/redis.sock                                one server, by a Unix socket
redis+cluster://host:7000,host:7001?namespace=shop             a cluster; rediss+cluster:// with TLS
redis+sentinel://host:26379,host:26380/SERVICE?namespace=shop  the master of a service; rediss+sentinel:// with TLS
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from holdfast.stores.password_escaping import split
from holdfast.stores.redis.keys import Keys

SCHEMES = ("redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
DEFAULT_PORT = 6379
DEFAULT_SENTINEL_PORT = 26379
LAST_PORT = 65535
DEFAULT_TIMEOUT = 5.0
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
_SENTINEL_LOGIN = ("sentinel_username", "sentinel_password")

Node = tuple[str, int]
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address. `shown` is for logs and errors: it contains no password."""

    shown: str
    nodes: tuple[Node, ...]
    """The server; or nodes of the cluster; or sentinels."""
    cluster: bool
    service: str | None = None
    """The service whose master is used; None without Sentinel."""
    namespace: str = "holdfast"
    socket: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    """Time limit of one call, in seconds."""
    allow_eviction: bool = False
    wait: int = 0
    """Number of replicas that must confirm each write."""
    waitaof: int = -1
    """Number of replicas whose append-only file must contain each write, besides the server's own; -1: off."""
    login: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    sentinel_login: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tls: dict[str, Any] | None = None

    def of_sentinels(self) -> Address:
        """The same address, for a connection to a sentinel."""
        return replace(self, service=None, login={"db": 0, **self.sentinel_login})


def read_address(text: str) -> Address:
    """Parse an address. The ValueError for a wrong address contains no password."""
    parts = split(text)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a Redis address begins with one of {', '.join(f'{each}://' for each in SCHEMES)}")
    credentials, _, hosts = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    namespace = options.pop("namespace", "holdfast")
    Keys(namespace)
    sentinel = parts.scheme.endswith("+sentinel")
    socket = None if sentinel else options.pop("socket", None)
    service, database = _service(parts.path) if sentinel else (None, parts.path)
    login = _login(credentials, database)
    path = f"{service}/{login['db']}" if service else login["db"]
    address = Address(
        shown=f"{parts.scheme}://{socket or hosts or 'localhost'}/{path}?namespace={namespace}",
        nodes=tuple(_node(host, DEFAULT_SENTINEL_PORT if sentinel else DEFAULT_PORT) for host in hosts.split(",")),
        cluster=parts.scheme.endswith("+cluster"),
        service=service,
        namespace=namespace,
        socket=socket,
        login=login,
        sentinel_login=_sentinel_login(options) if sentinel else {},
        tls=_tls(options, parts.scheme),
        timeout=_number(options, "timeout", DEFAULT_TIMEOUT),
        wait=_number(options, "wait", 0),
        waitaof=_number(options, "waitaof", -1),
        allow_eviction=options.pop("allow_eviction", "0") in ("1", "true", "yes"),
    )
    if options:
        raise ValueError(f"a Redis address has no option {', '.join(sorted(options))}")
    return address


def _login(credentials: str, database: str) -> dict[str, Any]:
    login: dict[str, Any] = {"db": _database(database)}
    user, _, password = credentials.partition(":")
    if user:
        login["username"] = unquote(user)
    if password:
        login["password"] = unquote(password)
    return login


def _sentinel_login(options: dict[str, str]) -> dict[str, str]:
    return {name.removeprefix("sentinel_"): options.pop(name) for name in _SENTINEL_LOGIN if name in options}


def _tls(options: dict[str, str], scheme: str) -> dict[str, str] | None:
    tls = {name: options.pop(name) for name in _TLS if name in options}
    if scheme.startswith("rediss"):
        return tls
    if tls:
        raise ValueError(
            f"{', '.join(tls)} of a Redis address is for TLS: begin it with {scheme.replace('redis', 'rediss')}://"
        )
    return None


def _number(options: dict[str, str], name: str, default: N) -> N:
    try:
        return type(default)(options.pop(name, default))
    except ValueError:
        raise ValueError(f"{name} of a Redis address is a number, such as {default}") from None


def _service(path: str) -> tuple[str, str]:
    """The service and the database: `/SERVICE` or `/SERVICE/1`."""
    service, _, database = path.strip("/").partition("/")
    if not service:
        raise ValueError("the path of a redis+sentinel address is the name of the service, such as /mymaster")
    return unquote(service), database


def _database(path: str) -> int:
    number = path.strip("/")
    if number and not number.isdecimal():
        raise ValueError("the path of a Redis address is the number of a database, such as /0")
    return int(number or 0)


def _node(text: str, default_port: int) -> Node:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        return text.strip("[]") or "localhost", default_port
    if port and not (port.isdecimal() and 1 <= int(port) <= LAST_PORT):
        # The message does not repeat the text: it may be a password in an address without a host.
        raise ValueError(f"the port of a Redis address is a number from 1 to {LAST_PORT}, such as {default_port}")
    return host.strip("[]") or "localhost", int(port or default_port)
