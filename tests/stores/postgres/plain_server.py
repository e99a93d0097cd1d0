"""A PostgreSQL server without LISTEN, NOTIFY and advisory locks, as some distributed databases are.

The role of the store has no right to call the functions. LISTEN cannot be revoked, so the server logs all statements,
and a test reads the log.
"""

from __future__ import annotations

import re
from functools import cache
from uuid import uuid4

from tests.servers.postgres import Postgres, running_postgres
from tests.servers.until_exit import until_exit

ROLE = "plain"
REFUSED = ("pg_notify(text, text)", "pg_advisory_xact_lock(bigint)", "pg_advisory_lock(bigint)")
_FORBIDDEN = re.compile(r"\b(listen|unlisten|notify)\b\s+\"?\w|pg_notify\(|pg_(try_)?advisory", re.IGNORECASE)


@cache
def plain_postgres() -> Postgres:
    """One such server for the whole run."""
    server = until_exit(running_postgres(log_statement="all", log_line_prefix="%u "))
    with server.connect() as connection:
        connection.execute(f"create role {ROLE} login")
        connection.execute(f"grant create on database postgres to {ROLE}")
        for function in REFUSED:
            connection.execute(f"revoke execute on function {function} from public".encode())
    return server


def plain_address() -> str:
    """The address of a new schema on the server, with the option that such a server needs."""
    return plain_postgres().address(user=ROLE, schema=f"h{uuid4().hex[:12]}", notify="off")


class StatementLog:
    """Reads what the server has logged since the last call."""

    def __init__(self) -> None:
        self._read = 0

    def forbidden(self) -> list[str]:
        """The lines with a statement of the role that such a server refuses, except the attempt to lock."""
        content = (plain_postgres().home / "log").read_bytes()
        lines = content[self._read :].decode(errors="replace").splitlines()
        self._read = len(content)
        mine = [line for line in lines if line.startswith(f"{ROLE} ") and _FORBIDDEN.search(line)]
        return [line for line in mine if "pg_advisory_xact_lock" not in line]


@cache
def statement_log() -> StatementLog:
    return StatementLog()
