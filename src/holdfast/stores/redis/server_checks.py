"""Checks of the server: its version, role and settings. Run when the store opens, and shown by `holdfast doctor`."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.engine.operations import Finding
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.address import Address
from holdfast.stores.redis.connection.conversation import Command, ServerFeatures
from holdfast.stores.redis.keys import LAYOUT

OLDEST = (6, 2)
FLAGS_SINCE = (7, 0)
SHARDED_SINCE = (7, 0)
WAITAOF_SINCE = (7, 2)

log = logging.getLogger("holdfast.redis")

# Some hosted services reject CONFIG, so everything that INFO contains is read from INFO.
INSPECTION: tuple[Command, ...] = (
    ("INFO",),
    ("CONFIG", "GET", "appendfsync"),
    ("CONFIG", "GET", "save"),
)


@dataclass(frozen=True, slots=True)
class ServerProperties:
    """The properties that a server reports."""

    product: str
    version: tuple[int, ...]
    compatible: tuple[int, ...]
    """The Redis version whose commands it supports: Valkey reports it besides its own version."""
    role: str
    cluster: bool
    eviction: str
    maxmemory: int
    used_memory: int
    aof: bool
    fsync: str | None
    saves: str | None
    replicas: int
    loading: bool

    @property
    def features(self) -> ServerFeatures:
        sharded = self.cluster and self.compatible >= SHARDED_SINCE
        return ServerFeatures(script_flags=self.compatible >= FLAGS_SINCE, publish="SPUBLISH" if sharded else "PUBLISH")


def read_server(replies: Sequence[Any]) -> ServerProperties:
    """Read the replies to `INSPECTION`."""
    info = _info(replies[0])
    valkey = info.get("valkey_version")
    return ServerProperties(
        product="Valkey" if valkey else "Redis",
        version=_version(valkey or info.get("redis_version", "0")),
        compatible=_version(info.get("redis_version", "0")),
        role=info.get("role", "unknown"),
        cluster=info.get("cluster_enabled") == "1",
        eviction=info.get("maxmemory_policy", "unknown"),
        maxmemory=int(info.get("maxmemory", 0)),
        used_memory=int(info.get("used_memory", 0)),
        aof=info.get("aof_enabled") == "1",
        fsync=_setting(replies[1]),
        saves=_setting(replies[2]),
        replicas=int(info.get("connected_slaves", 0)),
        loading=info.get("loading") == "1",
    )


def refusal(server: ServerProperties, address: Address) -> StoreUnavailable | None:
    """The reason why this server cannot be used; None if it can."""
    flaw = None
    if server.compatible < OLDEST:
        flaw = f"{_name(server)} is too old; this needs Redis {_dotted(OLDEST)} or newer, or Valkey"
    elif server.eviction not in ("noeviction", "unknown") and not address.allow_eviction:
        flaw = (
            f"its maxmemory-policy is {server.eviction}, so it may delete jobs when memory is full. "
            "Set it to noeviction, or add allow_eviction=1 to the address to accept that"
        )
    elif server.role not in ("master", "unknown"):
        flaw = f"it is a {server.role}, which cannot be written to. Connect to the primary"
    elif server.cluster != address.cluster:
        scheme = "redis+cluster://" if server.cluster else "redis://"
        flaw = f"it {'is' if server.cluster else 'is not'} part of a cluster. Use {scheme} in the address"
    elif address.waitaof >= 0 and server.compatible < WAITAOF_SINCE:
        flaw = f"{_name(server)} has no WAITAOF; it came with {_dotted(WAITAOF_SINCE)}"
    elif address.waitaof >= 0 and not server.aof:
        flaw = "it keeps no append-only file that waitaof= could wait for. Set appendonly yes"
    return None if flaw is None else StoreUnavailable(address.shown, flaw)


def layout_refusal(layout: str, address: Address) -> StoreUnavailable | None:
    """The reason why a namespace with this layout cannot be used; None if it can."""
    if layout == LAYOUT:
        return None
    flaw = (
        f"its namespace {address.namespace!r} is written in layout {layout}, and this version of Holdfast knows layout "
        f"{LAYOUT}. Use a version that knows {layout}, or another namespace= in the address"
    )
    return StoreUnavailable(address.shown, flaw)


def layout_finding(reply: Any, address: Address) -> Finding:
    """The layout of the namespace, from the server's reply."""
    layout = reply.decode() if isinstance(reply, bytes) else "unknown"
    detail = f"namespace {address.namespace!r} is written in layout {layout}"
    if layout == LAYOUT:
        return Finding("ok", "layout", detail)
    return Finding("error", "layout", f"{detail}, and this version of Holdfast knows layout {LAYOUT}")


def announce(server: ServerProperties, address: Address) -> None:
    """Log the server's durability; as a warning if a restart of the server would lose every job."""
    durability = _durability(server)
    summary = f"{_name(server)}, {server.role}{' of a cluster' if server.cluster else ''}, eviction {server.eviction}"
    log.info("%s: %s, persistence %s", address.shown, summary, durability.detail)
    if durability.level == "error":
        log.warning(
            "%s keeps nothing on disk: a restart of the server loses every job. Set appendonly yes", address.shown
        )


def findings(server: ServerProperties, address: Address) -> list[Finding]:
    """The findings that `holdfast doctor` shows."""
    cluster = " (cluster)" if server.cluster else ""
    found = [Finding("ok", "server", f"{_name(server)}, {server.role}{cluster}, {server.replicas} replicas")]
    if server.eviction == "noeviction":
        found.append(Finding("ok", "eviction", "noeviction"))
    else:
        detail = f"maxmemory-policy is {server.eviction}: the server may delete jobs when memory is full"
        found.append(Finding("error" if server.eviction != "unknown" else "warning", "eviction", detail))
    return [*found, _durability(server), _replication(server, address), _memory(server)]


def _durability(server: ServerProperties) -> Finding:
    if server.aof and server.fsync == "always":
        return Finding("ok", "durability", "append-only file, synced for every write: a crash loses nothing")
    if server.aof and server.fsync in (None, "everysec"):
        return Finding(
            "warning", "durability", "append-only file, synced every second: a power failure may lose the last second"
        )
    if server.aof:
        return Finding("warning", "durability", "append-only file, synced by the operating system: set appendfsync")
    if server.saves:
        return Finding(
            "warning", "durability", "snapshots only: a crash loses all writes since the last one. Set appendonly yes"
        )
    if server.saves is None:
        return Finding(
            "warning", "durability", "no append-only file; the server does not report whether it takes snapshots"
        )
    return Finding("error", "durability", "none: a restart loses every job. Set appendonly yes")


def _replication(server: ServerProperties, address: Address) -> Finding:
    if not server.replicas:
        return Finding("ok", "replication", "no replicas")
    asked = [f"{name}={n}" for name, n in (("wait", address.wait), ("waitaof", address.waitaof)) if n > 0]
    if asked:
        return Finding("ok", "replication", f"asynchronous, writes confirmed by {' and '.join(asked)}")
    detail = "asynchronous: a failover may lose the last writes. wait=1 in the address makes that less likely"
    return Finding("warning", "replication", detail)


def _memory(server: ServerProperties) -> Finding:
    used = f"{server.used_memory / 2**20:.1f} MiB used"
    if not server.maxmemory:
        return Finding("ok", "memory", f"{used}, no limit set")
    part = server.used_memory / server.maxmemory
    return Finding("ok" if part < 0.8 else "warning", "memory", f"{used}, {part:.0%} of the limit")


def _info(reply: Any) -> dict[str, str]:
    lines = reply.decode().splitlines() if isinstance(reply, bytes) else []
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def _setting(reply: Any) -> str | None:
    match reply:
        case [_, bytes(value)]:
            return value.decode()
        case _:
            return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def _name(server: ServerProperties) -> str:
    return f"{server.product} {_dotted(server.version)}"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
