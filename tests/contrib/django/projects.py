"""The test project, on a database of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from tests.servers.postgres import Postgres, shared_postgres
from tests.servers.postgres_schemas import new_database

PROJECT = Path(__file__).parent / "project"
MANAGE = str(PROJECT / "manage.py")


class Project:
    """The test project in a folder of its own, on one database."""

    def __init__(self, folder: Path, database: dict[str, Any], address: str, **environment: str) -> None:
        self.folder = folder
        self.address = address
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(PROJECT),
            "DJANGO_SETTINGS_MODULE": "settings",
            "SHOP_DATABASE": json.dumps(database),
            **environment,
        }

    def manage(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Run a command. Returns what it wrote, errors too."""
        done = subprocess.run(
            [sys.executable, "-W", "error", MANAGE, *arguments], cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout
        return done.stdout

    def run(self, program: str) -> str:
        """Run a program after `django.setup()`. Returns what it printed."""
        return self.manage("shell", "-v", "0", "-c", program)

    def begin(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, MANAGE, *arguments], cwd=self.folder, env={**self.environment, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip


def sqlite_project(folder: Path) -> Project:
    path = folder / "shop.sqlite3"
    return Project(folder, {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}, f"sqlite:///{path}")


def postgres_project(folder: Path, server: Postgres | None = None) -> Project:
    """On a database of its own: the tests of the project create another one beside it."""
    server = server or shared_postgres()
    address = new_database(server)
    parts = conninfo_to_dict(address)
    database = {"ENGINE": "django.db.backends.postgresql"}
    database |= {key: str(parts[name]) for key, name in (("NAME", "dbname"), ("HOST", "host"), ("USER", "user"))}
    return Project(folder, {**database, "PORT": str(parts.get("port", ""))}, address)


@contextmanager
def running(project: Project, *arguments: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    """A command that runs until the end of the block."""
    process = project.begin("holdfast", *arguments, **environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=200)
        sys.stdout.write(output)
