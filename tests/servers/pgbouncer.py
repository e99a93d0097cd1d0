"""A private PgBouncer in transaction mode, where one is installed or named by HOLDFAST_TEST_PGBOUNCER."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.ports import free_port
from tests.servers.postgres import START_SECONDS, Postgres


def find_pgbouncer() -> Path | None:
    named = os.environ.get("HOLDFAST_TEST_PGBOUNCER") or shutil.which("pgbouncer")
    return None if named is None else Path(named)


@contextmanager
def running_pgbouncer(program: Path, server: Postgres, *, connections: int = 3) -> Generator[int]:
    """The port of a pooler in front of this server. It has few connections, so clients often change sessions."""
    home = server.home / "pgbouncer"
    home.mkdir(exist_ok=True)
    port = free_port()
    (home / "users").write_text('"postgres" ""\n')
    (home / "ini").write_text(_settings(server, home, port, connections))
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        for path in (home, home / "users", home / "ini"):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        identity = {"user": owner.pw_uid, "group": owner.pw_gid}
    process = subprocess.Popen(
        [str(program), str(home / "ini")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity
    )
    try:
        _wait_until_open(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _settings(server: Postgres, home: Path, port: int, connections: int) -> str:
    return f"""[databases]
postgres = host={server.home} port={server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {home / "users"}
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 100
logfile = {home / "log"}
"""


def _wait_until_open(port: int, process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise
            time.sleep(0.02)
        else:
            return
