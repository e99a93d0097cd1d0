"""The configuration files of Patroni and HAProxy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCOPE = "holdfast"


@dataclass(frozen=True, slots=True)
class NodePorts:
    """Where a node listens on loopback: its database, and the REST interface of its Patroni."""

    name: str
    database: int
    rest: int


def patroni(ports: NodePorts, home: Path, binaries: Path, etcd: int, *, synchronous: bool) -> str:
    """The configuration of a node. JSON is valid YAML."""
    users = {name: {"username": name, "password": name} for name in ("superuser", "replication", "rewind")}
    users["superuser"]["username"] = "postgres"
    configuration: dict[str, Any] = {
        "scope": SCOPE,
        "name": ports.name,
        "restapi": {"listen": f"127.0.0.1:{ports.rest}", "connect_address": f"127.0.0.1:{ports.rest}"},
        "etcd3": {"host": f"127.0.0.1:{etcd}"},
        "bootstrap": {
            # Shorter than the defaults (30, 10, 10), which a production cluster should keep.
            "dcs": {
                "ttl": 20,
                "loop_wait": 1,
                "retry_timeout": 5,
                "maximum_lag_on_failover": 1 << 30,
                "synchronous_mode": synchronous,
                "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": _parameters()},
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            "pg_hba": [f"host {database} all 127.0.0.1/32 trust" for database in ("all", "replication")],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{ports.database}",
            "connect_address": f"127.0.0.1:{ports.database}",
            "data_dir": str(home / "data"),
            "bin_dir": str(binaries),
            "pgpass": str(home / "pgpass"),
            "authentication": users,
            "parameters": {"unix_socket_directories": str(home)},
        },
        "watchdog": {"mode": "off"},
    }
    return json.dumps(configuration, indent=1)


def haproxy(port: int, nodes: list[NodePorts]) -> str:
    """HAProxy forwards to the node whose Patroni answers that it is the primary, and closes all other sessions."""
    servers = [f"    server {node.name} 127.0.0.1:{node.database} maxconn 200 check port {node.rest}" for node in nodes]
    lines = [
        "global",
        "    maxconn 500",
        "defaults",
        "    mode tcp",
        "    timeout connect 2s",
        "    timeout client 30m",
        "    timeout server 30m",
        "    timeout check 2s",
        "listen primary",
        f"    bind 127.0.0.1:{port}",
        "    option httpchk OPTIONS /primary",
        "    http-check expect status 200",
        "    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions",
        *servers,
        "",
    ]
    return "\n".join(lines)


def _parameters() -> dict[str, str]:
    return {
        "max_connections": "150",
        "shared_buffers": "64MB",
        "wal_level": "replica",
        "max_wal_senders": "10",
        "max_replication_slots": "10",
        "wal_keep_size": "256MB",
        "timezone": "UTC",
    }
